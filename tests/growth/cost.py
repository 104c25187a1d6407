"""How cost grows with size: processor time of this process, never the clock on the wall.

Whoever reads foreign bytes may take at most 2.3 times as long for twice as many. A busy machine makes single
measurements longer, never shorter: the least of several counts, and a growth that looks wrong is measured again with
more before it is called wrong.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

#: Most that twice the input may cost. Linear is 2; a tree of objects or a buffer that moves takes a little more.
MOST = 2.3
#: Seconds below which a measurement says nothing.
TELLING = 0.002
#: Seconds of one call after which it is stopped: what takes so long at these sizes grows without end, on a slow
#: processor as well.
LONGEST = 2.0
#: Measurements of which the least counts; where it looks wrong, it is taken again with more. After so many of them, only
#: what is near the limit is.
_TIMES = (3, 4, 5, 7, 9, 9, 9)
_PLAIN = 5
_NEAR = 3.0
#: Seconds before each of them, times its number: what keeps the machine busy may have ended by then.
_PAUSE = 0.2


#: What glibc's mallopt calls its limits (malloc.h), and what they are unless told otherwise, in bytes.
_TRIM, _MAP = -1, -3
_UNTOLD = 128 * 1024


class Endless(Exception):
    """A call that took longer than LONGEST."""


@dataclass(frozen=True)
class Growth:
    """How often as long twice the input takes, where the input has `size` units and takes `seconds`."""

    size: int
    seconds: float
    ratio: float

    @property
    def wrong(self) -> bool:
        """Whether it grows faster than the input."""
        return self.ratio > MOST

    def __str__(self) -> str:
        return f"{self.size} units take {self.seconds * 1000:.1f} ms, twice as many {self.ratio:.1f} times that"


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise Endless in this code after so many seconds of the processor; only in the main thread, where signals go.

    A regular expression looks for signals while it matches. The timer is one of the wall's: with a timer of the
    processor's, the kernel counts processor time in ticks, for everybody who asks.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    begin = time.process_time()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if time.process_time() - begin > seconds:
            raise Endless(f"more than {seconds} s of the processor")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds / 4)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def kept_memory() -> Iterator[None]:
    """Keep what is freed in this process, so that a second call finds its memory where the first one left it.

    The allocator returns blocks to the kernel from some size on, and a page that is new costs more than reading it: a
    size below that limit is not half of one above it.
    """
    libc = ctypes.CDLL(None)
    for limit in (_TRIM, _MAP):
        libc.mallopt(limit, 1 << 30)
    try:
        yield
    finally:
        for limit in (_TRIM, _MAP):
            libc.mallopt(limit, _UNTOLD)
        libc.malloc_trim(0)


def seconds(run: Callable[[Any], object], given: Any, times: int = 1) -> float:
    """The least of so many measurements. Raises Endless."""
    least = float("inf")
    for _ in range(times):
        with stopped_after(LONGEST):
            begin = time.process_time()
            run(given)
            least = min(least, time.process_time() - begin)
    return least


def growth(
    make: Callable[[int], Any],
    run: Callable[[Any], object],
    *,
    begin: int = 64,
    most: int = 1 << 22,
    fixed: bool = False,
) -> Growth:
    """How the cost of `run(make(size))` grows, from the first size that takes long enough to be measured on.

    A size at which even `most` takes no time says that nothing is wrong: the ratio is 0. With `fixed` the size is
    `begin`, and the call is repeated instead: for what has a limit of its own, so that more of it is refused.
    """
    collects = gc.isenabled()
    gc.disable()  # a collection in one of two measurements would be taken for growth
    try:
        with kept_memory():
            return _repeated(make, run, begin) if fixed else _growth(make, run, begin, most)
    finally:
        if collects:
            gc.enable()


def _growth(make: Callable[[int], Any], run: Callable[[Any], object], size: int, most: int) -> Growth:
    try:
        while (took := seconds(run, make(size))) < TELLING:
            if size >= most:
                return Growth(size, took, 0.0)
            size = min(size * 2, most) if took * 4 < TELLING or size < 128 else min(size * 5 // 4, most)
        for attempt, times in enumerate(_TIMES):
            time.sleep(_PAUSE * attempt)
            larger = min(attempt, _PLAIN - 1)
            found = _doubled(make, run, size * 3**larger // 2**larger, times)
            if not _doubtful(found, attempt):
                break
    except Endless:
        return Growth(size, LONGEST, float("inf"))
    return found


def _repeated(make: Callable[[int], Any], run: Callable[[Any], object], size: int) -> Growth:
    often = 1

    def each(given: Any) -> None:
        for _ in range(often):
            run(given)

    try:
        given = make(size)
        while seconds(each, given, 2) < TELLING:
            often *= 2
        for attempt, times in enumerate(_TIMES):
            time.sleep(_PAUSE * attempt)
            found = _doubled(make, each, size, times)
            if not _doubtful(found, attempt):
                break
    except Endless:
        return Growth(size, LONGEST, float("inf"))
    return found


def _doubtful(found: Growth, attempt: int) -> bool:
    """Whether to measure again after measurement number `attempt`."""
    return found.wrong and (attempt < _PLAIN - 1 or found.ratio < _NEAR)


def _doubled(make: Callable[[int], Any], run: Callable[[Any], object], size: int, times: int) -> Growth:
    small, large = make(size), make(2 * size)

    def both(_: Any) -> None:
        run(small)
        run(small)

    once = twice = float("inf")
    # By turns: a machine is slow for longer than one of them takes. The small one is measured over two calls, so that
    # both take about as long: on a busy machine, what fits between two switches of its processor looks faster.
    for _ in range(times):
        once, twice = min(once, seconds(both, None) / 2), min(twice, seconds(run, large))
    return Growth(size, once, twice / max(once, 1e-9))


def assert_linear(make: Callable[[int], Any], run: Callable[[Any], object], **measured: Any) -> None:
    """Fail where it grows faster than the input; `measured` as growth() takes it."""
    found = growth(make, run, **measured)
    assert not found.wrong, str(found)
