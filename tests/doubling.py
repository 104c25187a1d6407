"""What twice the input costs: 2 for what is linear, 4 for what is quadratic."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

#: Most that twice the input may cost.
MOST = 2.3


def growth(call: Callable[[Any], object], hostile: Callable[[int], Any], attempts: int = 6) -> float:
    """The cost of twice the input, as a multiple: from `hostile(1)` to `hostile(4)`, which is two times twice.

    In processor time of this thread, the least of several. What lies between the two costs beside the code is a busy
    machine, which makes a measurement longer and never shorter: one that is too high is taken again.
    """
    small, large = hostile(1), hostile(4)
    times = max(1, int(0.004 / max(_seconds(call, small, 1), 1e-6)))
    costs: tuple[list[float], list[float]] = ([], [])
    collecting = gc.isenabled()
    gc.disable()
    try:
        for attempt in range(attempts):
            for cost, given in zip(costs, (small, large), strict=True):
                cost.append(_seconds(call, given, times))
            if attempt >= 1 and _doubled(costs) < MOST:
                break
    finally:
        if collecting:
            gc.enable()
    return _doubled(costs)


def _doubled(costs: tuple[list[float], list[float]]) -> float:
    return (min(costs[1]) / min(costs[0])) ** 0.5


def _seconds(call: Callable[[Any], object], given: Any, times: int) -> float:
    began = time.thread_time()
    for _ in range(times):
        call(given)
    return time.thread_time() - began
