"""numpy, pandas and matplotlib for the crawler: loaded as a zygote loads them, and objects of theirs to begin with."""

from __future__ import annotations

import sys

from rlm_secure.environments.local import packages as installed
from rlm_secure.guest import packages
from rlm_secure.guest.packages import finder
from rlm_secure.policy.model import PACKAGES

#: Where their code comes from; what they keep for themselves changes with nearly every call.
ROOTS = tuple(sorted({name for needed in finder.NEEDS.values() for name in needed}))
#: What each of their functions is called with. No objects of a cell's own classes: their hooks run inside C code that
#: does not survive all of them (threat-model.md), which would end the crawl. `free` says what it is given.
TRIES = (
    "", "free", "frame", "np.arange(4.0)", "1", "'x'", "[1, 2]", "free, frame", "free, [1]", "'x', free", "frame, frame",
    "['g']", "[1, 2], [3, 4]", "1, 2", "{'x': [1]}", "'x', [1, 2]", "io.StringIO('x\\n1')", "io.BytesIO()", "axes", "figure",
)  # fmt: skip
#: Expressions of what is crawled beside the rest.
ONLY = ("numpy", "pandas", "matplotlib", "instances['package ")

#: What a cell makes of them, by kind, for the expressions `instances['package KIND'][NUMBER]`.
_MADE = {
    "arrays": "np.arange(4.0), np.array([free, None, 1], dtype=object), np.zeros(2, dtype=[('a', 'i4'), ('b', 'O')]), np.array(['a', 'b']), "
    "np.arange('2024-01', '2024-04', dtype='datetime64[M]'), np.array(True), np.matrix([[1]]) if hasattr(np, 'matrix') else np.eye(2)",
    "scalars": "np.float64(1.5), np.int64(2), np.str_('x'), np.datetime64('2024-01-01'), np.timedelta64(1, 'D'), np.zeros(1, dtype=[('a', 'i4')])[0], "
    "np.dtype('f8'), np.dtype([('a', 'O')]), np.finfo(float), np.iinfo(int), np.arange(3).flat, np.poly1d([1, 2])",
    "random": "np.random.default_rng(0), np.random.RandomState(0), np.vectorize(free), np.errstate(all='ignore'), np.ndindex(2), np.ndenumerate(np.eye(2))",
    "frames": "frame, frame['x'], frame.index, frame.columns, frame.set_index(['g', 'x']).index, frame['when'].dt, frame['g'].str, frame.plot",
    "groups": "frame.groupby('g'), frame.groupby('g')['x'], frame['x'].rolling(2), frame['x'].expanding(), frame['x'].ewm(1), "
    "frame.set_index('when').resample('D'), frame.groupby('g').rolling(1), frame.loc, frame.iloc, frame.at, frame.iat",
    "times": "pd.Timestamp('2024-01-01', tz='UTC'), pd.Timedelta(1, 'D'), pd.Period('2024-01'), pd.Interval(0, 1), pd.NaT, pd.NA, "
    "pd.offsets.MonthEnd(), pd.DateOffset(days=1), pd.offsets.CustomBusinessDay(), pd.Grouper(key='g'), pd.NamedAgg('x', 'max')",
    "indexes": "pd.date_range('2024-01-01', periods=2), pd.timedelta_range(0, periods=2), pd.period_range('2024-01', periods=2), "
    "pd.interval_range(0, 2), pd.CategoricalIndex(['a']), pd.Categorical(['a']), pd.array([1, None], dtype='Int64'), "
    "pd.array(['a'], dtype='string'), pd.Series(['a'], dtype='category').cat, pd.Index([free], dtype=object)",
    "readers": "pd.read_csv(io.StringIO('x\\n1\\n2'), chunksize=1), pd.option_context('display.width', 80), frame.iterrows(), frame.itertuples(), iter(frame.groupby('g'))",
    "figures": "figure, axes, axes.xaxis, axes.yaxis, axes.spines, line, axes.bar([1], [2]), axes.scatter([1], [2]), axes.legend(), "
    "axes.set_title('x'), axes.imshow([[1]]), axes.hist([1, 2]), axes.pie([1]), axes.transData, axes.patch, axes.xaxis.get_major_locator(), "
    "axes.xaxis.get_major_formatter(), plt.get_cmap('viridis'), plt.Normalize(0, 1), plt.rcParams, plt.style",
}  # fmt: skip


def load() -> None:
    """Load them into this process, for good."""
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # pandas would start a thread of it; a zygote does not find it
    packages.load(PACKAGES, installed.folders(PACKAGES))
    packages.close(PACKAGES)


def active() -> bool:
    """Whether this process has them."""
    return "numpy" in sys.modules


def cells() -> list[str]:
    """The cells that make objects of them, if they are loaded."""
    if not active():
        return []
    made = [
        ("import io\nimport numpy as np, pandas as pd, matplotlib.pyplot as plt\n"
        "frame = pd.DataFrame({'g': ['a', 'b', 'a'], 'x': [1.0, 2.0, 3.0], 'o': [free, len, None], 'when': pd.date_range('2024-01-01', periods=3)})\n"
        "figure, axes = plt.subplots()\nline, = axes.plot([1, 2], label='x')")
    ]
    for kind, listed in _MADE.items():
        made.append(f"instances['package {kind}'] = [{listed}]")
    return made


def own(name: str) -> bool:
    """Whether the module `name` is of a package, or made by one."""
    return name.partition(".")[0] in ROOTS
