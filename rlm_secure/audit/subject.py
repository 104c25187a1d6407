"""The request to attack an environment, and its result, as rules and reports use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import TypeAdapter

from rlm_secure.audit.finding import NotChecked
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.testing.corpus import Attack, load
from rlm_secure.testing.verdict import Reach, Result

#: Called after each attempt, from any thread: the number done, the total, and the attack's name.
Progress = Callable[[int, int, str], None]

_PROVE_NOTHING = (Result.NOT_CHECKED, Result.ERRORED)


@dataclass(frozen=True, slots=True)
class Probe:
    """One attack on one kind of session, and its result. `screened` says whether the session had a language layer."""

    name: str
    summary: str
    guarantee: Guarantee
    screened: bool
    result: Result
    wall: Wall | None
    evidence: str
    seconds: float
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentSubject:
    """An environment that was attacked: its report, and the result of every attack. `left_out` attacks were not run.

    `arena` describes the arena of the attacks; None if they ran on the machine itself. `trouble` is why nothing could
    be judged, `trace` the traceback of an adapter that raised.
    """

    name: str
    report: EnforcementReport | None
    missing: tuple[Wall, ...]
    probes: tuple[Probe, ...]
    not_checked: tuple[NotChecked, ...]
    left_out: int
    seconds: float
    arena: str | None = None
    trouble: str = ""
    trace: str = ""

    def count(self, result: Result) -> int:
        """How many attempts ended with this result."""
        return sum(probe.result is result for probe in self.probes)

    def count_reach(self, reach: Reach) -> int:
        """How many winning attempts got this far."""
        return sum(probe.reach is reach for probe in self.probes)

    def count_not_checked(self) -> int:
        """How many attempts prove nothing."""
        return self.count(Result.NOT_CHECKED) + self.count(Result.ERRORED)

    @property
    def unproved(self) -> tuple[Guarantee, ...]:
        """Guarantees for which attempts failed by themselves, and none held or won."""
        failed = {probe.guarantee for probe in self.probes if probe.result is Result.ERRORED}
        judged = {probe.guarantee for probe in self.probes if probe.result not in _PROVE_NOTHING}
        return tuple(each for each in Guarantee if each in failed - judged)

    @property
    def judged(self) -> bool:
        """Whether at least one attempt held or won, at least as many as failed, and no guarantee is unproved."""
        decided = len(self.probes) - self.count_not_checked()
        return decided > 0 and decided >= self.count(Result.ERRORED) and not self.unproved

    @property
    def reason(self) -> str:
        """Why it could not be judged."""
        if self.trouble:
            return self.trouble
        unproved = ", ".join(each.value for each in self.unproved)
        said = next((probe.evidence for probe in self.probes if probe.result is Result.ERRORED), "no attack was run")
        which = f" (none on {unproved} could be tried)" if unproved else ""
        return f"{self.count(Result.ERRORED)} of {len(self.probes)} attempts failed by themselves{which}: {said}"

    def unjudged(self) -> Counter[tuple[Result, str]]:
        """The reasons why attempts prove nothing, with the count of each."""
        return Counter((probe.result, probe.evidence) for probe in self.probes if probe.result in _PROVE_NOTHING)

    def walls(self) -> Counter[str]:
        """How often each wall stopped an attack."""
        return Counter(probe.wall.value for probe in self.probes if probe.wall and probe.result is Result.STOPPED)


@dataclass(frozen=True, slots=True)
class Job:
    """What to attack, under which policy (as JSON), and with which attacks.

    `only` names the attacks (all if empty); `own` are attacks beside the shipped ones. After `deadline` seconds none is
    started.
    """

    name: str
    policy: str
    quick: bool = False
    only: tuple[str, ...] = ()
    own: tuple[Attack, ...] = ()
    deadline: float = 3_600.0

    def corpus(self) -> list[Attack]:
        """The requested attacks."""
        return [each for each in (*self.own, *load()) if not self.only or each.name in self.only]


JOB: TypeAdapter[Job] = TypeAdapter(Job)
SUBJECT: TypeAdapter[EnvironmentSubject] = TypeAdapter(EnvironmentSubject)


def is_foreign(name: str) -> bool:
    """Whether an environment is a foreign sandbox: `package.module:name`."""
    return ":" in name
