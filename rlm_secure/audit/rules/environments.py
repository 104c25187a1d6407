"""Rules on an environment: which walls it built, and what became of the attacks on it."""

from __future__ import annotations

from collections.abc import Iterator

from rlm_secure.audit.finding import Finding, Location, Severity
from rlm_secure.audit.probes import EnvironmentSubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.audit.rules.isolation import weakened
from rlm_secure.guarantees import Guarantee, Level
from rlm_secure.testing.probe import Result


class AttackWon(Rule[EnvironmentSubject]):
    """An attack of the corpus got through.

    Each attack is one attempt on one guarantee, judged from outside: by canaries that came out, listeners that were
    reached, files that changed, processes that stayed. In plain Python each of them wins; behind the walls, none may.

    See:
        sandboxes/attacks/, one file for each
        threat-model.md, section 5
    """

    id = "attack-won"
    kind = Kind.ENVIRONMENT
    severity = Severity.CRITICAL
    hint = "do not run untrusted code there; with our own environments, report it: .github/SECURITY.md"

    def check(self, subject: EnvironmentSubject) -> Iterator[Finding]:
        for probe in subject.probes:
            if probe.result is Result.WON:
                layer = "with" if probe.screened else "without"
                message = f"{subject.name}, {layer} the language layer: {probe.name}: {probe.evidence}"
                yield self.finding(
                    Location(f"sandboxes/attacks/{probe.name}.py"),
                    message,
                    about=f"{subject.name} {probe.screened} {probe.name}",
                    weakens=(probe.guarantee,),
                )


class WallMissing(Rule[EnvironmentSubject]):
    """A wall that the policy requires is not there.

    A session of ours does not start without it. Of another environment, the report says what was tried.

    See:
        rlm-secure doctor
    """

    id = "wall-missing"
    kind = Kind.ENVIRONMENT
    severity = Severity.HIGH
    hint = "rlm-secure doctor says what was tried, and what the machine answered"

    def check(self, subject: EnvironmentSubject) -> Iterator[Finding]:
        for wall in subject.missing:
            message = f"{subject.name} has no wall {wall.value}, which the policy requires"
            yield self.finding(
                Location(f"environment:{subject.name}"),
                message,
                about=f"{subject.name} {wall.value}",
                weakens=weakened(wall),
            )


class GuaranteeMissing(Rule[EnvironmentSubject]):
    """An environment does not keep a guarantee with the walls that it built.

    No attack of ours may have won, and the walls still do not add up: what keeps the next attack out is missing.

    See:
        threat-model.md, section 5
    """

    id = "guarantee-missing"
    kind = Kind.ENVIRONMENT
    severity = Severity.HIGH
    hint = "use an environment that keeps it; rlm-secure doctor compares them"

    def check(self, subject: EnvironmentSubject) -> Iterator[Finding]:
        if subject.report is None:
            return
        for guarantee in Guarantee:
            level = subject.report.guarantee(guarantee)
            if level in (Level.NONE, Level.PARTIAL):
                said = "not kept" if level is Level.NONE else "kept in part"
                message = f"{subject.name}: {guarantee.value} is {said} by the walls that stand"
                yield self.finding(
                    Location(f"environment:{subject.name}"),
                    message,
                    about=f"{subject.name} {guarantee.value}",
                    weakens=(guarantee,),
                    severity=Severity.HIGH if level is Level.NONE else Severity.MEDIUM,
                )


RULES = (AttackWon, WallMissing, GuaranteeMissing)
