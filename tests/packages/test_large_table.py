"""A table of 100,000 rows: put in by name, read, grouped, joined and plotted in one cell; the numbers are pandas' own."""

from __future__ import annotations

import io
import random

import pandas
import pytest
from PIL import Image

from rlm_secure import Sandbox
from rlm_secure.types import REPLResult

ROWS = 100_000
REGIONS = "region,manager\nN,Ann\nE,Ben\nS,Cat\nW,Dan\n"
CELL = """
import numpy as np, pandas as pd, matplotlib.pyplot as plt

df = pd.read_csv("orders.csv", parse_dates=["when"])
joined = df.merge(pd.read_csv("regions.csv"), on="region", how="left")
joined["revenue"] = joined["units"] * joined["price"]
by_manager = joined.groupby("manager")["revenue"].agg(["count", "sum", "mean", "std"])
monthly = joined.pivot_table(index=joined["when"].dt.to_period("M"), columns="region", values="revenue", aggfunc="sum")

fig, axes = plt.subplots(1, 2, figsize=(12, 4.5))
(monthly / 1e6).plot(ax=axes[0], marker="o", title="Revenue by month (pandas)")
axes[0].set_ylabel("million €")
axes[1].hist(df["price"], bins=40, color="tab:green", alpha=0.7, label="orders")
axes[1].axvline(df["price"].mean(), color="black", linestyle="--", label=f"mean {df['price'].mean():.2f}")
axes[1].set_title(r"Prices (matplotlib), $\\sigma = %.2f$" % df["price"].std())
axes[1].set_xlabel("price")
axes[1].legend()
fig.tight_layout()
fig.savefig("revenue.png", dpi=100)
by_manager.to_csv("by_manager.csv")
{"rows": len(joined), "revenue": joined["revenue"].sum(), "months": len(monthly)}
"""


def _orders() -> str:
    dice = random.Random(5)
    lines = ["id,when,region,units,price"]
    for number in range(ROWS):
        day = f"2024-{dice.randint(1, 12):02d}-{dice.randint(1, 28):02d}"
        lines.append(f"{number},{day},{dice.choice('NESW')},{dice.randint(1, 9)},{dice.gauss(50, 12):.2f}")
    return "\n".join(lines) + "\n"


ORDERS = _orders()


@pytest.fixture(scope="module")
def result() -> REPLResult:
    with Sandbox(policy="data") as sandbox:
        sandbox.files["orders.csv"] = ORDERS
        sandbox.files["regions.csv"] = REGIONS
        return sandbox.run(CELL).check()


def test_the_numbers_are_those_of_pandas_on_the_host(result: REPLResult) -> None:
    joined = pandas.read_csv(io.StringIO(ORDERS)).merge(pandas.read_csv(io.StringIO(REGIONS)), on="region")
    joined["revenue"] = joined["units"] * joined["price"]
    by_manager = joined.groupby("manager")["revenue"].agg(["count", "sum", "mean", "std"])
    assert result.value == {"rows": ROWS, "revenue": joined["revenue"].sum(), "months": 12}
    assert result.files["by_manager.csv"] == by_manager.to_csv().encode()
    assert result.stderr == ""


def test_the_figure_is_a_picture_with_lines_bars_and_text(result: REPLResult) -> None:
    with Image.open(io.BytesIO(result.files["revenue.png"]), formats=["PNG"]) as picture:
        assert picture.size == (1200, 450)
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20)}
    assert len(colours) > 100  # smooth edges of lines and letters
    assert {(31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (255, 255, 255), (0, 0, 0)} <= colours
