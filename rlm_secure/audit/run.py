"""One audit: targets are read, rules look at them, environments are attacked, and the result is one Report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from itertools import islice
from typing import Any, Final

from rlm_secure.audit import accept, probes, rules, targets
from rlm_secure.audit.finding import Confidence, Finding, Location, NotChecked, Severity, Unreadable
from rlm_secure.audit.probes import EnvironmentSubject, Progress
from rlm_secure.audit.read import cells as read_cells
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.read.policy import read as read_policy
from rlm_secure.audit.read.trajectory import TrajectorySubject
from rlm_secure.audit.report import Ignored, Report
from rlm_secure.audit.rule import Kind
from rlm_secure.policy import Policy
from rlm_secure.testing.arena import Arena

#: Findings of one rule in one file that are listed.
_MOST: Final = 1_000


def audit(
    names: Sequence[str] = (),
    *,
    policy: str = "strict",
    environments: Sequence[str] = (),
    quick: bool = False,
    use_ignores: bool = True,
    known: frozenset[str] = frozenset(),
    fail_on: Severity = Severity.MEDIUM,
    progress: Progress | None = None,
    only: frozenset[str] = frozenset(),
    arena: Arena | None = None,
    deadline: float = 3_600.0,
) -> Report:
    """Audit everything that `names` and `environments` mean.

    `names` are files, folders, shipped policies, `packages`, or KIND:PATH. `policy` (a shipped one or a path) is what
    cells and environments are held against, and whose ignores count. Without names and environments: the policy, the
    installed packages and the local environment. `known` are fingerprints of a baseline; `only` names the attacks that
    are tried (all when empty), in the `arena`, for `deadline` seconds at most.
    Never raises for what is in a target; Unreadable for a name that leads nowhere, PolicyError for a policy that is
    no target and does not load, ValueError for an unknown environment, ArenaRefused where no arena can be built.
    """
    started = time.monotonic()
    if not names and not environments:
        names, environments = (policy, "packages"), ("local",)
    state = _State(read_policy(policy))
    if state.base.problems and not (policy in names and state.base.path.exists()):
        raise state.base.problems[0]  # nothing can be held against it
    for name in names:
        try:
            found = targets.expand(name)
        except Unreadable as error:
            raise Unreadable(f"{name}: {error}") from None
        if not found:
            state.not_checked.append(NotChecked(name, "there is no file in it that any rule looks at"))
        for target in found:
            state.look_at(target)
    for environment in environments:
        subject = probes.attack(
            environment, state.policy, arena=arena, quick=quick, only=only, deadline=deadline, progress=progress
        )
        state.attacked(subject)
    return state.report(use_ignores, known, fail_on, started)


@dataclass
class _State:
    """What has been found so far."""

    base: PolicySubject
    findings: list[Finding] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    environments: list[EnvironmentSubject] = field(default_factory=list)
    policies: list[PolicySubject] = field(default_factory=list)
    seen: dict[str, None] = field(default_factory=dict)
    ran: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        """The policy that cells and environments are held against; the tightest where it does not load."""
        return self.base.policy if self.base.loaded else Policy()

    def look_at(self, target: targets.Target) -> None:
        """Read one target and let the rules of its kind look at it."""
        if target.shown in self.seen:
            return
        self.seen[target.shown] = None
        if target.refused:
            self.not_checked.append(NotChecked(target.shown, target.refused))
            return
        try:
            subject = targets.read(target, self.policy)
            if isinstance(subject, TrajectorySubject):
                screened = read_cells.screen(subject.file, subject.cells, self.policy)
                self._apply(Kind.CELLS, screened, target.shown)
        except Unreadable as error:
            place = Location(target.shown, error.line, error.column)
            self.not_checked.append(NotChecked(str(place), str(error)))
            return
        except Exception as error:  # noqa: BLE001 - whoever wrote the file chose what a reader stumbles over
            self._not_looked(target.shown, error)
            return
        if isinstance(subject, PolicySubject):
            self.policies.append(subject)
            if subject.loaded is None:
                invalid = rules.BY_ID["policy-invalid"]
                self.ran[invalid.id, target.shown] = None
                self.findings += invalid().check(subject)
                self.not_checked.append(NotChecked(target.shown, "the other rules look at policies that load"))
                return
        self._apply(target.kind, subject, target.shown)

    def attacked(self, subject: EnvironmentSubject) -> None:
        """Let the rules look at what became of the attacks on one environment."""
        self.environments.append(subject)
        self.not_checked += subject.not_checked
        if subject.probes:
            self._apply(Kind.ENVIRONMENT, subject, f"environment {subject.name}")
            self.seen[f"environment {subject.name}"] = None

    def _apply(self, kind: Kind, subject: Any, shown: str) -> None:
        for rule in rules.of(kind):
            try:
                found = list(islice(rule().check(subject), _MOST + 1))
            except Exception as error:  # noqa: BLE001 - as above
                self._not_looked(f"{shown} by {rule.id}", error)
                continue
            self.ran[rule.id, shown] = None
            self.findings += found[:_MOST]
            if len(found) > _MOST:
                more = f"it has more findings than the {_MOST:,} that are listed"
                self.not_checked.append(NotChecked(f"{shown} by {rule.id}", more))

    def _not_looked(self, what: str, error: Exception) -> None:
        reason = f"looking at it ended with {type(error).__name__}: it is not what it says it is; look at it yourself"
        self.not_checked.append(NotChecked(what, reason))

    def report(self, use_ignores: bool, known: frozenset[str], fail_on: Severity, started: float) -> Report:
        """The result: what counts, what is accepted, and what could not be looked at."""
        left, ignored = _distinct(self.findings), list[Ignored]()
        if use_ignores:
            policies = list({each.file: each for each in (self.base, *self.policies)}.values())
            ran = frozenset(rule for rule, _ in self.ran)
            left, ignored = accept.apply_ignores(left, policies, ran, frozenset(self.seen))
        left, old = accept.apply_baseline(left, known)
        failed = {(each.rule, each.location.file) for each in left}
        return Report(
            version=metadata.version("rlm-secure"),
            policy=self.base.file,
            started=datetime.now(UTC),
            seconds=time.monotonic() - started,
            targets=tuple(self.seen),
            findings=tuple(sorted(left, key=_order)),
            ignored=tuple(sorted((*ignored, *old), key=lambda each: _order(each.finding))),
            not_checked=tuple(self.not_checked),
            environments=tuple(self.environments),
            checks=len(self.ran),
            failed=min(len(failed), len(self.ran)),
            fail_on=fail_on,
            rules=tuple(dict.fromkeys(rule for rule, _ in self.ran)),
        )


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _order(finding: Finding) -> tuple[Any, ...]:
    place = finding.location
    confidence = list(Confidence).index(finding.confidence)
    return -finding.severity.rank, -confidence, place.file, place.line, place.column, finding.rule, finding.message
