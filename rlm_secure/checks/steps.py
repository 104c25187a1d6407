"""The limit of what a check may cost: a number of steps, and a callback that may end it early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self

#: Most steps of one check. One takes one or two microseconds.
STEPS: Final = 5_000_000
#: Steps allowed for an empty text, and for each character.
_FIRST, _EACH = 200_000, 50
#: Steps between two calls of `interrupt`.
_BETWEEN: Final = 20_000


class OutOfSteps(Exception):
    """A check reached its limit of steps or depth without a result."""


class Steps:
    """Counts the steps of one check, which may take `limit`.

    `interrupt` is called every 20,000 steps; an exception from it ends the check. For one thread.
    """

    def __init__(self, limit: int = STEPS, interrupt: Callable[[], object] | None = None) -> None:
        self._limit = self._left = limit
        self._interrupt = interrupt
        self._look_at = max(0, limit - _BETWEEN)

    @classmethod
    def of(cls, size: int, interrupt: Callable[[], object] | None = None) -> Self:
        """Allow a check of `size` characters steps in proportion to them, up to STEPS."""
        return cls(min(STEPS, _FIRST + _EACH * size), interrupt)

    @property
    def taken(self) -> int:
        """How many steps were taken."""
        return self._limit - self._left

    def take(self, count: int = 1) -> None:
        """Count `count` steps. Raises OutOfSteps, or what `interrupt` raises."""
        self._left -= count
        if self._left < self._look_at:
            self._look()

    def _look(self) -> None:
        if self._left < 0:
            raise OutOfSteps
        self._look_at = max(0, self._left - _BETWEEN)
        if self._interrupt is not None:
            self._interrupt()
