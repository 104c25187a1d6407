"""How long a request waits for its session's turn, and why it stopped waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Self

from rlm_secure.errors import CellError, CellTimeout

#: The files of a cell that come so fast delay no caller; on a free processor a worker sends more than ten times as
#: many.
FILE_BYTES_A_SECOND: Final = 2e6


class Remaining(float):
    """What is left of the seconds that a caller gave. `given` is what it gave, which its error names."""

    def __new__(cls, left: float, given: float) -> Self:
        """`left` seconds of those `given`."""
        made = super().__new__(cls, left)
        made.given = given
        return made

    given: float

    # Without it, neither pickle nor copy can make one: an environment may send its seconds to another process.
    def __reduce__(self) -> tuple[type[Self], tuple[float, float]]:
        return type(self), (float(self), self.given)


class NoTurn(Exception):
    """A request did not get its session's turn in time, for the reason in `error`."""

    def __init__(self, error: CellError) -> None:
        super().__init__(str(error))
        self.error = error


class Wait:
    """When a request was made, and how long it may wait for its turn.

    `interrupts` returns how often the session was interrupted. `most` is the caller's limit for everything, in seconds;
    `longest` is that of a run: of the wait, only the time for background work counts towards it (`in_background`).
    """

    def __init__(self, interrupts: Callable[[], int], most: float | None, longest: float) -> None:
        self._count = interrupts
        self._interrupts = interrupts()
        self._looked = self.began = time.monotonic()
        self.most, self.longest = most, longest
        self.in_background = 0.0
        self.error: CellError | None = None

    def over(self, background: bool) -> bool:
        """Whether to stop waiting, for the reason in `error`. See turn.GiveUp."""
        now = time.monotonic()
        if background:
            self.in_background += now - self._looked
        else:
            self._interrupts = self._count()  # interrupts so far were meant for the cell that runs
        self._looked = now
        if self._count() != self._interrupts:
            said = "the request was interrupted by the host before its turn came"
            self.error = CellTimeout(said, limit="interrupt", wall="wall-clock")
        elif self.most is not None and now - self.began >= self.most:
            self.error = too_long(self.most)
        elif self.in_background >= self.longest:
            self.error = longer_than_a_run(self.longest)
        return self.error is not None


def too_long(most: float) -> CellTimeout:
    """A cell took longer than its caller's seconds."""
    given = most.given if isinstance(most, Remaining) else most
    said = f"the cell took longer than the {given:g} s that its caller gave it, with all that it waited for"
    return CellTimeout(said, limit="limits.cell_seconds", wall="wall-clock")


def longer_than_a_run(longest: float) -> CellTimeout:
    """A cell took longer than a run may."""
    said = f"the cell took longer than limits.run_seconds = {longest:g} s, with all that it waited for"
    return CellTimeout(said, limit="limits.run_seconds", wall="wall-clock")
