"""Sessions with numpy, pandas and matplotlib beside plain ones: start, memory, and what the first one waits for."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import psutil

from benchmarks.local import CELL, Sessions, policy
from benchmarks.runner import Case, benchmark
from rlm_secure import Policy
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.zygote import Plan, Zygote

TABLE = "import pandas as pd\nx = int(pd.DataFrame({'g': list('aab'), 'x': [1, 2, 3]}).groupby('g').x.sum().max())"


@benchmark("data-session", "from nothing to the result of the first cell; the zygotes are running")
def data_session() -> Iterator[Sequence[Case]]:
    loaded = policy("data", pool=0)
    plain, data, table = Sessions(policy("standard", pool=0)), Sessions(loaded), Sessions(loaded, cell=TABLE)
    pooled = Sessions(policy("data", pool=4))

    def rest(of: Sessions) -> Callable[[], None]:
        def before() -> None:
            of.close()
            deadline = time.monotonic() + 2
            while pool.ready() < 4 and time.monotonic() < deadline:  # nothing else is started meanwhile
                time.sleep(0.005)
            time.sleep(0.05)

        return before

    pooled.start()
    yield [
        Case("standard", plain.start, before=rest(plain)),
        Case("data", data.start, before=rest(data)),
        Case("data, from the pool", pooled.start, before=rest(pooled)),
        Case("data, a cell that groups a table", table.start, before=rest(table)),
    ]
    for each in (plain, data, table, pooled):
        each.close()
    pool.drain()


@benchmark("data-memory", "one more idle session (its part of all memory), in bytes where the table says seconds")
def data_memory() -> Iterator[Sequence[Case]]:
    count = 10

    def one_more(name: str, cell: str) -> Callable[[], float]:
        def measure() -> float:
            sessions = Sessions(policy(name, pool=0), cell=cell)
            sessions.start()  # its zygote is there now, with the process that it keeps in advance
            alone = _taken()
            for _ in range(count):
                sessions.start()
            time.sleep(0.2)  # each has its spare then, from which it resumes
            each = (_taken() - alone) / count
            sessions.close()
            return each

        return measure

    yield [
        Case("standard", lambda: None, value=one_more("standard", CELL), slow=True),
        Case("data", lambda: None, value=one_more("data", CELL), slow=True),
        Case("data, after a cell that groups a table", lambda: None, value=one_more("data", TABLE), slow=True),
    ]


def _taken() -> int:
    """All memory that the processes below this one take."""
    total = 0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # only root may read the memory maps of a session
            total += int(child.memory_full_info().pss)
    return total


@benchmark("data-zygote", "what the first data session of a process waits for")
def data_zygote() -> Iterator[Sequence[Case]]:
    packages = Policy.load("data").language.packages

    def plain() -> None:
        subprocess.run([sys.executable, "-I", "-c", "import pandas, matplotlib.pyplot"], check=True)

    def zygote() -> None:
        Zygote(Plan(packages=packages)).close()

    yield [
        Case("import pandas, matplotlib.pyplot in plain Python", plain, slow=True),
        Case("a zygote with numpy, pandas and matplotlib", zygote, slow=True),
    ]
