"""Uses the packages once in the zygote, so that sessions inherit what they set up at the first use."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from typing import Any

_CSV = "g,x,when\na,1.5,2024-01-01\nb,2.5,2024-01-02\na,,2024-01-03\n"


def warm_up(names: Sequence[str]) -> None:
    """Run a few operations of each of `names`, with which there is always numpy."""
    _arrays(importlib.import_module("numpy"))
    if "pandas" in names:
        _frames(importlib.import_module("pandas"))
    if "matplotlib" in names:
        _figures(importlib.import_module("matplotlib.pyplot"))


def _arrays(np: Any) -> None:
    table = np.arange(16.0).reshape(4, 4) + np.eye(4)
    np.linalg.inv(table @ table), np.sort(table), np.random.default_rng(0).normal(size=4), str(table)
    np.where(table > 1, 1, 0).sum(axis=0), np.fft.fft(table), np.unique(table), np.percentile(table, 5)


def _frames(pd: Any) -> None:
    frame = pd.read_csv(io.StringIO(_CSV), parse_dates=["when"])
    frame.groupby("g")["x"].agg(["mean", "count"]), frame.merge(frame, on="g"), frame.pivot_table("x", "g")
    frame["y"] = frame["x"] * 2
    frame.loc[frame["x"] > 1, "y"] = 0
    frame.set_index("when")["x"].resample("D").mean(), frame.query("x > 1"), frame.sort_values("x").describe()
    str(frame), frame.to_csv(), frame.to_json(), frame.to_html(), frame.info(buf=io.StringIO())
    frame["g"].str.upper(), frame["when"].dt.strftime("%Y"), frame["g"].value_counts(), frame.isna().sum()
    pd.read_csv(io.StringIO(_CSV), engine="python"), pd.read_json(io.StringIO(frame.to_json()))


def _figures(plt: Any) -> None:
    for kind in ("png", "svg", "jpg"):
        figure, axes = plt.subplots()
        axes.plot([1, 2, 3], label="$x^2$")
        axes.legend()
        axes.set_title("x")
        figure.tight_layout()
        figure.savefig(io.BytesIO(), format=kind)
    for name in plt.style.available:
        plt.style.library[name]
    plt.close("all")
