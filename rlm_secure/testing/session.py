"""What attacks run in: the sessions that a judge accepts, and the ways in which foreign ones fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rlm_secure.errors import RLMSecureError
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.types import REPLResult

#: The environment's name in the report of a foreign session. Nothing is known about it, so the report names no wall.
FOREIGN = "foreign"


class Session(Protocol):
    """What an attack is run in: Sandbox, Unscreened and ForeignSession implement it."""

    @property
    def report(self) -> EnforcementReport:
        """The walls in force."""
        ...

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell."""
        ...

    def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How sessions of a kind behave without an attack: the same behaviour after an attack is not blamed on it.

    `beside` more sessions can be open while one lives; `start` is the most seconds from opening one to the end of its
    first cell, `cell` the seconds of a cell that does nothing.
    """

    beside: int = 3
    start: float = 0.0
    cell: float = 0.0


@runtime_checkable
class Restarting(Protocol):
    """Opens sessions in a host process that is started anew for each attempt."""

    habits: Habits

    def __call__(self) -> Session:
        """Open a session in the host."""
        ...

    def begin(self) -> None:
        """Start a new host, ending the previous one."""

    def end(self) -> None:
        """Kill the host and every process that it started."""


@runtime_checkable
class Watched(Protocol):
    """A foreign session: its uncaptured output, memory and CPU time are measured from outside."""

    def spilled(self) -> str:
        """What it wrote to its host's own standard streams since it was opened."""
        ...

    def held_bytes(self) -> int:
        """The memory of its processes in bytes: the greater of now and the peak since `forget_peak`."""
        ...

    def forget_peak(self) -> None:
        """Restart the measurement of `held_bytes`."""

    def busy_seconds(self) -> float:
        """CPU seconds that its processes have used."""
        ...


class SessionFailed(RLMSecureError):
    """A foreign session failed by itself: this attempt proves nothing."""

    trace: str = ""
    """The adapter's own traceback."""


class HostDied(Exception):
    """The process that holds foreign sessions ended while it was in use."""


class HostLate(Exception):
    """A foreign session did not answer in time; its host was killed."""
