"""Rules on an environment: which walls it built, and the results of the attacks on it."""

from __future__ import annotations

from collections.abc import Iterator

from rlm_secure.audit.finding import Finding, Location, Severity
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.audit.rules.isolation import weakened
from rlm_secure.audit.subject import EnvironmentSubject, Probe, is_foreign
from rlm_secure.guarantees import Guarantee, Level
from rlm_secure.testing.verdict import Reach

_SHOWN = 8


class _Won(Rule[EnvironmentSubject]):
    """Base of the rules on attacks that won. One finding for each guarantee that they broke, however many did."""

    reach: Reach

    def check(self, subject: EnvironmentSubject) -> Iterator[Finding]:
        holes: dict[tuple[Guarantee, bool], list[Probe]] = {}
        for probe in subject.probes:
            if probe.reach is self.reach:
                holes.setdefault((probe.guarantee, probe.screened), []).append(probe)
        for (guarantee, screened), proofs in holes.items():
            layer = "" if is_foreign(subject.name) else f", {'with' if screened else 'without'} the language layer"
            tried = sum(probe.guarantee is guarantee and probe.screened is screened for probe in subject.probes)
            first = proofs[0]
            shown = ", ".join(probe.name for probe in proofs[:_SHOWN])
            shown += f" and {len(proofs) - _SHOWN} more" if len(proofs) > _SHOWN else ""
            message = (
                f"{subject.name}{layer}: {guarantee.value} broken by {len(proofs)} of {tried} attacks: {shown}; "
                f"the first: {first.evidence}"
            )
            yield self.finding(
                Location(f"sandboxes/attacks/{first.name}.py"),
                message,
                about=f"{subject.name} {screened} {guarantee.value}",
                weakens=(guarantee,),
            )


class AttackWon(_Won):
    """Attacks of the corpus reached something outside the session.

    Each attack is one attempt on one guarantee, judged from outside: by leaked canaries, reached listeners, changed
    files, mounts, remaining processes, a host that grew, hung or died. Without walls each of them wins; behind the
    walls, none may. All attacks that broke the same guarantee are one finding.

    See:
        sandboxes/attacks/, one file for each
        threat-model.md, section 5
    """

    id = "attack-won"
    kind = Kind.ENVIRONMENT
    severity = Severity.CRITICAL
    hint = "do not run untrusted code there; with our own environments, report it: .github/SECURITY.md"
    reach = Reach.REACHED


class AttackSurface(_Won):
    """Attacks of the corpus got an answer that they should not have; nothing outside was seen to be reached.

    A system call that succeeded, a root directory that could be listed, a class that could be accessed: each is a step
    that another attack can build on. Only the attack itself claims it, so the severity is never above medium.

    See:
        sandboxes/attacks/, one file for each
    """

    id = "attack-surface"
    kind = Kind.ENVIRONMENT
    severity = Severity.MEDIUM
    hint = "take it away where nobody needs it: a filter for system calls, an empty root, fewer names"
    reach = Reach.SURFACE


class NoArena(Rule[EnvironmentSubject]):
    """The attacks ran on the machine itself, and not in an arena.

    An attack that wins there harms that machine, and later attacks may run on a changed machine.

    See:
        rlm-secure audit --help
    """

    id = "no-arena"
    kind = Kind.ENVIRONMENT
    severity = Severity.MEDIUM
    hint = "leave --no-arena out"

    def check(self, subject: EnvironmentSubject) -> Iterator[Finding]:
        if subject.arena is None:
            message = f"{subject.name} was attacked on this machine itself, without an arena"
            yield self.finding(Location(f"environment:{subject.name}"), message, about=subject.name)


class WallMissing(Rule[EnvironmentSubject]):
    """A wall that the policy requires is missing.

    Our own sessions do not start without it. Foreign environments are judged by the guarantees alone.

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

    Even if no attack of ours won, a wall that the guarantee needs is missing, and another attack may win.

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
            level = subject.report.by_walls(guarantee)
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


RULES = (AttackWon, AttackSurface, NoArena, WallMissing, GuaranteeMissing)
