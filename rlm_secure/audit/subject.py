"""An attack on an environment: what is asked for, and what became of it, as rules and reports see that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import TypeAdapter

from rlm_secure.audit.finding import NotChecked
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.testing.corpus import Attack, load
from rlm_secure.testing.verdict import Reach, Result

#: Told after each attempt: how many are done, how many there are, and which it was. From any thread.
Progress = Callable[[int, int, str], None]

_PROVE_NOTHING = (Result.NOT_CHECKED, Result.ERRORED)


@dataclass(frozen=True, slots=True)
class Probe:
    """One attack on one kind of session, and what became of it. `screened` says whether that had a language layer."""

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
    """An environment that was attacked: its report, and what became of every attack. `left_out` were not run.

    `arena` says what the attacks ran in, None that they ran on the machine itself. `trouble` is why nothing could be
    judged, with the `trace` of an adapter that raised.
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
        """How many attempts ended like this."""
        return sum(probe.result is result for probe in self.probes)

    def count_reach(self, reach: Reach) -> int:
        """How many attempts that won got so far."""
        return sum(probe.reach is reach for probe in self.probes)

    def count_not_checked(self) -> int:
        """How many attempts prove nothing."""
        return self.count(Result.NOT_CHECKED) + self.count(Result.ERRORED)

    @property
    def unproved(self) -> tuple[Guarantee, ...]:
        """Guarantees on which attempts failed by themselves, and none held or won."""
        failed = {probe.guarantee for probe in self.probes if probe.result is Result.ERRORED}
        judged = {probe.guarantee for probe in self.probes if probe.result not in _PROVE_NOTHING}
        return tuple(each for each in Guarantee if each in failed - judged)

    @property
    def judged(self) -> bool:
        """Whether attempts held or won, and not so few that the others decide."""
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
        """Why attempts prove nothing, and how often for that reason."""
        return Counter((probe.result, probe.evidence) for probe in self.probes if probe.result in _PROVE_NOTHING)

    def walls(self) -> Counter[str]:
        """How often each wall stopped an attack."""
        return Counter(probe.wall.value for probe in self.probes if probe.wall and probe.result is Result.STOPPED)


@dataclass(frozen=True, slots=True)
class Job:
    """What is attacked, under which policy (as JSON), and how much.

    `only` names the attacks, all of them when empty; `own` are attacks beside the shipped ones. After `deadline`
    seconds none is started.
    """

    name: str
    policy: str
    quick: bool = False
    only: tuple[str, ...] = ()
    own: tuple[Attack, ...] = ()
    deadline: float = 3_600.0

    def corpus(self) -> list[Attack]:
        """The attacks that are asked for."""
        return [each for each in (*self.own, *load()) if not self.only or each.name in self.only]


JOB: TypeAdapter[Job] = TypeAdapter(Job)
SUBJECT: TypeAdapter[EnvironmentSubject] = TypeAdapter(EnvironmentSubject)


def is_foreign(name: str) -> bool:
    """Whether an environment is somebody else's: `package.module:name`."""
    return ":" in name
