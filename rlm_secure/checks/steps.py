"""What a check may cost: a number of steps for the whole of it, and somebody who may end it in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self

#: Steps of one check at most. One takes one or two microseconds.
STEPS: Final = 5_000_000
#: Steps of the check of an empty text, and for each of its characters.
_FIRST, _EACH = 200_000, 50
#: Steps between two looks at whether the check is still wanted.
_BETWEEN: Final = 20_000


class OutOfSteps(Exception):
    """A check took as many steps as it may, and has found nothing."""


class Steps:
    """Counts the steps of one check, of which it may take `limit`.

    `interrupt` is called every 20,000 steps; what it raises ends the check. For one thread.
    """

    def __init__(self, limit: int = STEPS, interrupt: Callable[[], object] | None = None) -> None:
        self._limit = self._left = limit
        self._interrupt = interrupt
        self._look_at = max(0, limit - _BETWEEN)

    @classmethod
    def of(cls, size: int, interrupt: Callable[[], object] | None = None) -> Self:
        """The steps that the check of so many characters may take: in proportion to them, up to STEPS."""
        return cls(min(STEPS, _FIRST + _EACH * size), interrupt)

    @property
    def taken(self) -> int:
        """How many there were."""
        return self._limit - self._left

    def take(self, count: int = 1) -> None:
        """Count some more. Raises OutOfSteps, or what `interrupt` raises."""
        self._left -= count
        if self._left < self._look_at:
            self._look()

    def _look(self) -> None:
        if self._left < 0:
            raise OutOfSteps
        self._look_at = max(0, self._left - _BETWEEN)
        if self._interrupt is not None:
            self._interrupt()
