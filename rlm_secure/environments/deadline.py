"""When a request must end: its wall clock, less the time that the host itself took, and its CPU seconds.

Guards: when a request ends
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rlm_secure.errors import CellError, CellTimeout

SESSION_CPU = "limits.session_cpu_seconds"
#: Longest sleep of a waiting host: an interrupt from another thread takes effect within it.
SLICE_SECONDS = 0.1
#: A cell that does not stop is interrupted again this often, until the grace is over.
INTERRUPT_EVERY_SECONDS = 0.05


class Overdue(Exception):
    """The worker was not done in time, grace included, or it called clone(2) unasked, or its memory is over the limit
    or unknown (`final`).

    `error` says which limit it exceeded; `cpu_seconds` are those of the cell that it ran.
    """

    cpu_seconds = 0.0

    def __init__(self, error: CellError, *, final: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.final = final


class Deadline:
    """The deadline of one request. `read_cpu` returns the worker's CPU seconds so far, or None, and `cpu_before` are
    those at the start; `left` returns the CPU seconds that its session has left."""

    def __init__(
        self,
        wall: float,
        cpu: float | None = None,
        read_cpu: Callable[[], float | None] | None = None,
        left: Callable[[], float] | None = None,
        cpu_before: float | None = None,
    ) -> None:
        self.wall = wall
        """Its seconds at the start."""
        self.extended = 0.0
        """Seconds by which it was extended."""
        self.command = False
        """Whether the request runs no cell: `wall` is then limits.start_seconds, plus the time for a context."""
        self._looked = time.monotonic()
        self._wall_end = self._looked + wall
        self._end = float("inf")
        self._end_cause: Callable[[], CellError] | None = None
        self._cpu_limit = cpu
        self._read_cpu = read_cpu
        self._left = left
        self._cpu_start = cpu_before
        self._expired: float | None = None
        self.cause: CellError | None = None

    def bound(self, seconds: float, cause: Callable[[], CellError]) -> None:
        """End the request that many seconds from now for what `cause` makes; `extend` does not move this. The first
        bound wins.
        """
        if (end := time.monotonic() + seconds) < self._end:
            self._end, self._end_cause = end, cause

    def left_of_bounds(self) -> float:
        """Seconds until the first of its bounds; infinity if it has none."""
        return max(self._end - time.monotonic(), 0.0)

    def step(self, seconds: float) -> Deadline:
        """A deadline that many seconds from now, for a part of this request, with the bounds of the request."""
        part = Deadline(seconds)
        part._end, part._end_cause = self._end, self._end_cause
        return part

    def slice(self) -> float:
        """Seconds to wait before the next check."""
        if self._expired is not None:
            return INTERRUPT_EVERY_SECONDS
        left = min(self._wall_end, self._end) - time.monotonic()
        return SLICE_SECONDS if left >= SLICE_SECONDS else max(left, 0.001)

    def remaining(self) -> float:
        """Seconds until the wall clock is over; 0 when it is, or when the request was ended early."""
        return 0.0 if self._expired is not None else max(min(self._wall_end, self._end) - time.monotonic(), 0.0)

    def extend(self, seconds: float) -> None:
        """Extend the deadline by time that the cell did not use. Bounds stay."""
        self._wall_end += seconds
        self.extended += seconds

    def expire(self, cause: CellError) -> None:
        """End the request now, for `cause`; the first cause is kept."""
        if self._expired is None:
            self._expired = time.monotonic()
            self.cause = cause

    def interrupt(self) -> None:
        """End the request now, because of an interrupt from the host."""
        self.expire(CellTimeout("the cell was interrupted by the host", limit="interrupt", wall="wall-clock"))

    def due(self) -> bool:
        """Whether it is time to call `over`; also for a worker that sends without a pause."""
        now = time.monotonic()
        late = now >= self._wall_end or now >= self._end
        return late or now - self._looked >= SLICE_SECONDS or self._expired is not None

    def over(self) -> CellError | None:
        """The reason why the request must end, or None while it may go on."""
        self._looked = time.monotonic()
        if self._expired is None:
            now = time.monotonic()
            if now >= self._end and self._end < self._wall_end and self._end_cause is not None:
                self.expire(self._end_cause())
            elif now >= self._wall_end:
                limit = "limits.start_seconds" if self.command else "limits.cell_seconds"
                what = "a request that runs no cell took" if self.command else "the cell ran"
                said = f"{what} longer than its limit of {self.wall:g} s ({limit}) and was stopped"
                self.expire(CellTimeout(said, limit=limit, wall="wall-clock"))
            elif self._left is not None and self._left() <= 0:
                said = "the session's CPU seconds (limits.session_cpu_seconds) are used up: the cell was stopped"
                self.expire(CellTimeout(said, limit=SESSION_CPU, wall="rlimits"))
            elif self._cpu_limit is not None and self._read_cpu and (used := self._read_cpu()) is not None:
                self._cpu_start = used if self._cpu_start is None else min(self._cpu_start, used)
                if used - self._cpu_start >= self._cpu_limit:
                    said = f"the cell used up limits.cell_cpu_seconds = {self._cpu_limit:g} s and was stopped"
                    self.expire(CellTimeout(said, limit="limits.cell_cpu_seconds", wall="wall-clock"))
        return self.cause

    def overdue(self) -> float:
        """Seconds since the request should have ended; 0 while it may go on."""
        return 0.0 if self._expired is None else time.monotonic() - self._expired
