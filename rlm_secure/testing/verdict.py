"""The result of an attempt: a typed record of what was observed and what each cell claims.

Guards: the claims of an attack, counted and made inert
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from rlm_secure.guarantees import Guarantee, Wall
from rlm_secure.testing.corpus import Attack

#: The claim of an attack. Not after a quote: a traceback may show the source line that would have printed it.
_CLAIM = re.compile(r"""(?<!["'\w])WON\b[^\n]{0,200}""")
#: A sandbox may colour the output.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Result(StrEnum):
    """The result of an attempt."""

    STOPPED = "stopped"
    """A wall refused or killed it."""
    CONTAINED = "contained"
    """It ran, and reached nothing outside."""
    WON = "won"
    """It broke the guarantee."""
    NOT_CHECKED = "not-checked"
    """It could not be run, or its control does not win on this machine: its defeat would prove nothing."""
    ERRORED = "errored"
    """The session failed by itself: it did not start, or its adapter raised. It neither held nor lost."""


class Reach(StrEnum):
    """How far an attack that won got."""

    REACHED = "reached"
    """The host observed it: a canary, a listener, a process, memory, or the host itself."""
    SURFACE = "surface"
    """A call succeeded that should not have; nothing outside was seen to be reached."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one attempt. `wall` is what stopped it, if that is known; `evidence` is what was observed."""

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
        """Whether the attack ran and won nothing."""
        return self.result in (Result.STOPPED, Result.CONTAINED)


def writable(text: str) -> str:
    """Escape what UTF-8 cannot encode in `text`: output may contain a lone surrogate."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Claim:
    """A line in which an attack claims to have won, and the number (from 1) of the cell that printed it."""

    cell: int
    text: str


def claims(cell: int, stdout: str) -> list[Claim]:
    """What one cell claims in its standard output."""
    return [Claim(cell, found[0]) for found in _CLAIM.finditer(_COLOUR.sub("", stdout))]


def errored(attack: Attack, reason: str) -> Verdict:
    """The verdict on an attempt whose session failed by itself."""
    return Verdict(attack.name, attack.guarantee, Result.ERRORED, None, reason[:300], 0.0)


def not_checked(attack: Attack, reason: str) -> Verdict:
    """The verdict on an attack that was not run."""
    return Verdict(attack.name, attack.guarantee, Result.NOT_CHECKED, None, reason, 0.0)
