"""What became of an attempt: a typed record, made from what was seen and what each cell claims.

Guards: what an attack says, counted and made inert
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rlm_secure.guarantees import Guarantee, Wall
from rlm_secure.testing.corpus import Attack

#: What an attack says when it got through. Not behind a quote: a traceback may show the line that would have said it.
_CLAIM = re.compile(r"""(?<!["'\w])WON\b[^\n]{0,200}""")
#: A sandbox may paint what it passes on.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Result(StrEnum):
    """What became of an attempt."""

    STOPPED = "stopped"
    """A wall refused it, or killed it."""
    CONTAINED = "contained"
    """It ran, and reached nothing outside."""
    WON = "won"
    """It broke the guarantee."""
    NOT_CHECKED = "not-checked"
    """It could not be run, or its control does not win on this machine: its defeat would prove nothing."""
    ERRORED = "errored"
    """The session failed by itself: it did not start, or whoever opens it raised. It neither held nor lost."""


class Reach(StrEnum):
    """How far an attack that won got."""

    REACHED = "reached"
    """The host saw it: a canary, a listener, a process, memory, or the host itself."""
    SURFACE = "surface"
    """A call answered that should not have; nothing outside was seen to be reached."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one attempt. `wall` is what stopped it, as far as that shows; `evidence` is what was seen."""

    name: str
    guarantee: Guarantee
    result: Result
    wall: Wall | None
    evidence: str
    seconds: float
    reach: Reach | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", writable(self.evidence))

    @property
    def held(self) -> bool:
        """Whether the attack ran, and got nothing."""
        return self.result in (Result.STOPPED, Result.CONTAINED)


def writable(text: str) -> str:
    """`text` as UTF-8 can hold it: what is attacked may say half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of an attack's own that says that it got through, and the cell that printed it, from 1."""

    cell: int
    text: str


def claims(cell: int, stdout: str) -> list[Claim]:
    """What one cell claims, in what it printed itself."""
    return [Claim(cell, found[0]) for found in _CLAIM.finditer(_COLOUR.sub("", stdout))]


def errored(attack: Attack, reason: str) -> Verdict:
    """The verdict on an attempt whose session failed by itself."""
    return Verdict(attack.name, attack.guarantee, Result.ERRORED, None, reason[:300], 0.0)


def not_checked(attack: Attack, reason: str) -> Verdict:
    """The verdict on an attack that was not run."""
    return Verdict(attack.name, attack.guarantee, Result.NOT_CHECKED, None, reason, 0.0)
