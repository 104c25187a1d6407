"""What attacks run in: the sessions that a judge can be given, and how those of others fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rlm_secure.errors import RLMSecureError
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.types import REPLResult

#: What the report of a session of somebody else's is called: nothing is known of it, so it names no wall.
FOREIGN = "foreign"


class Session(Protocol):
    """What an attack is run in: Sandbox, Unscreened and Foreign are such sessions."""

    @property
    def report(self) -> EnforcementReport:
        """What holds around it."""

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell."""

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class Habits:
    """What sessions of a kind are like when nobody attacks: what is like that after an attack is not its doing.

    `beside` of them can be opened while another one lives; one takes `start` seconds at most until its first cell has
    run, and `cell` seconds for a cell that does nothing.
    """

    beside: int = 3
    start: float = 0.0
    cell: float = 0.0


@runtime_checkable
class Restarting(Protocol):
    """What opens sessions in a host that is made anew for each attempt."""

    habits: Habits

    def begin(self) -> None:
        """Make it anew."""

    def end(self) -> None:
        """End it, with all that it started."""


@runtime_checkable
class Watched(Protocol):
    """A session of somebody else's: what it writes past its capture, holds and computes is looked at from outside."""

    def spilled(self) -> str:
        """What it wrote to its host's own standard streams since it was opened."""

    def held_bytes(self) -> int:
        """Bytes that its processes hold, or held at once since `forget_peak`."""

    def forget_peak(self) -> None:
        """Let `held_bytes` be about what comes now."""

    def busy_seconds(self) -> float:
        """Processor seconds that its processes have had."""


class SessionFailed(RLMSecureError):
    """A session of somebody else's could not do what it was asked to: this attempt says nothing."""

    trace: str = ""
    """The adapter's own traceback, for who asks."""


class HostDied(Exception):
    """The process that holds sessions of somebody else's ended while a cell ran."""


class HostLate(Exception):
    """A session of somebody else's gave no answer in time, and was killed."""
