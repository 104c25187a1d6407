"""One audit: read the targets, apply the rules, attack the environments, and return one Report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from itertools import islice
from typing import Any, Final, TypeVar

from rlm_secure.audit import accept, probes, rules, targets
from rlm_secure.audit.finding import Confidence, Finding, Location, NotChecked, Severity, Unreadable
from rlm_secure.audit.read import cells as read_cells
from rlm_secure.audit.read.policy import PolicySubject
from rlm_secure.audit.read.policy import read as read_policy
from rlm_secure.audit.read.trajectory import TrajectorySubject
from rlm_secure.audit.report import Ignored, Report
from rlm_secure.audit.rule import Kind
from rlm_secure.audit.subject import EnvironmentSubject, Progress
from rlm_secure.guarantees import Guarantee
from rlm_secure.inert import excerpt
from rlm_secure.policy import Policy
from rlm_secure.testing.arena import Arena
from rlm_secure.testing.corpus import Attack

T = TypeVar("T")

#: Limit of the findings of one rule in one file.
_MOST: Final = 1_000
#: Findings after which an audit reads no further file; and the limit of the entries in its list of unchecked things.
_MOST_FINDINGS: Final = 20_000
_MOST_NOT_CHECKED: Final = 5_000


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
    own_attacks: tuple[Attack, ...] = (),
    arena: Arena | None = None,
    deadline: float = 3_600.0,
    strict: bool = False,
    more_rules: Sequence[str] = (),
) -> Report:
    """Audit `names` and `environments`; by default the policy, the installed packages and the local environment.

    `names` are files, folders, shipped policies, `packages`, or KIND:PATH. `policy` (a shipped one or a path) is the
    one that applies to cells and environments, and whose ignores count; the ignores of a policy among the `names` count
    for that policy itself. `known` are fingerprints of a baseline; `only` names the attacks to run (all if empty), in
    the `arena`, and `own_attacks` are run beside the shipped ones (see rlm_secure.testing.corpus.own). After `deadline`
    seconds no further file is read and no further attack is started: the rest is reported as not checked.
    `more_rules` are ids of additional rules, from other distributions. With `strict`, anything not checked makes the
    report's code COULD_NOT_RUN.
    Never raises because of the content of a target. Raises Unreadable for a name that does not exist, PolicyError for a
    policy that is no target and does not load, ValueError for an unknown environment or rule, and for `own_attacks`
    without an environment, ArenaRefused if no arena can be built.
    """
    started = time.monotonic()
    if not names and not environments:
        names, environments = (policy, "packages"), ("local",)
    if own_attacks and not environments:
        raise ValueError("--attacks needs --env: no environment is named that they could attack; add --env local")
    state = _State(read_policy(policy), use_ignores, started + deadline, _known(more_rules))
    if state.base.problems and not (policy in names and state.base.path.exists()):
        raise state.base.problems[0]  # without a valid policy nothing can be checked
    for name in names:
        state.look_through(name)
    for environment in environments:
        subject = probes.attack(
            environment,
            state.policy,
            arena=arena,
            quick=quick,
            only=only,
            own=own_attacks,
            deadline=deadline,
            progress=progress,
        )
        state.attacked(subject)
    return state.report(known, fail_on, started, strict)


def _known(more_rules: Sequence[str]) -> tuple[str, ...]:
    for name in more_rules:
        try:
            rules.get(name)
        except KeyError:
            raise ValueError(
                f"no installed distribution has a rule {name[:100]!r}; rlm-secure audit --list-rules shows all"
            ) from None
    return tuple(dict.fromkeys(each for each in more_rules if each not in rules.BY_ID))


@dataclass
class _State:
    """The results so far."""

    base: PolicySubject
    use_ignores: bool
    deadline: float
    more_rules: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    unnamed: int = 0
    environments: list[EnvironmentSubject] = field(default_factory=list)
    looked: dict[tuple[Kind, str], None] = field(default_factory=dict)
    ran: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def seen(self) -> tuple[str, ...]:
        """The audited targets by their displayed names: each file once, even if it was read as several kinds."""
        return tuple(dict.fromkeys(name for _, name in self.looked))

    @property
    def policy(self) -> Policy:
        """The policy that applies to cells and environments; the strictest (the default) if it does not load."""
        return self.base.policy if self.base.loaded else Policy()

    def look_through(self, name: str) -> None:
        """Audit every target of a name, until the deadline, or until there are too many findings."""
        number = 0
        try:
            for number, target in enumerate(targets.expand(name, self.deadline), 1):  # noqa: B007 - used after the loop
                over = "the deadline had passed before it" if time.monotonic() > self.deadline else ""
                if len(self.findings) >= _MOST_FINDINGS:
                    over = f"there are {_MOST_FINDINGS:,} findings before it"
                if over:
                    reason = f"{over}, and so it is with whatever follows in {name}; name what matters by itself"
                    self._skip(target.shown, reason)
                    return
                self.look_at(target)
        except Unreadable as error:
            raise Unreadable(f"{name}: {error}") from None
        if not number:
            self._skip(name, "there is no file in it that any rule looks at")

    def look_at(self, target: targets.Target) -> None:
        """Read one target and apply the rules of its kind."""
        if (target.kind, target.shown) in self.looked:
            return
        self.looked[target.kind, target.shown] = None
        if target.refused:
            self._skip(target.shown, target.refused)
            return
        try:
            subject = targets.read(target, self.policy, self.deadline)
            if isinstance(subject, TrajectorySubject):
                screened = read_cells.screen(subject.file, subject.cells, self.policy, self.deadline)
                self._apply(Kind.CELLS, screened, target.shown)
        except Unreadable as error:
            place = Location(target.shown, error.line, error.column)
            self._skip(str(place), str(error))
            return
        except Exception as error:  # noqa: BLE001 - the file is untrusted, and may make a reader fail in any way
            self._not_looked(target.shown, error)
            return
        if isinstance(subject, PolicySubject) and subject.loaded is None:
            invalid = rules.BY_ID["policy-invalid"]
            self.ran[invalid.id, target.shown] = None
            self.findings += invalid().check(subject)
            self._skip(target.shown, "the other rules look at policies that load")
            return
        before = len(self.findings)
        self._apply(target.kind, subject, target.shown)
        if isinstance(subject, PolicySubject) and subject.file != self.base.file and self.use_ignores:
            self._accept_own(subject, before)

    def _accept_own(self, policy: PolicySubject, before: int) -> None:
        """Apply the ignores of an audited policy to the findings in that policy itself, and to no others."""
        found = self.findings[before:]
        own = [each for each in found if each.location.file == policy.file]
        ran = frozenset(rule for rule, shown in self.ran if shown == policy.file)
        left, ignored = accept.apply_ignores(own, policy, ran, frozenset({policy.file}))
        self.findings[before:] = [*(each for each in found if each.location.file != policy.file), *left]
        self.ignored += ignored

    def attacked(self, subject: EnvironmentSubject) -> None:
        """Apply the rules to the results of the attacks on one environment."""
        self.environments.append(subject)
        self.not_checked += subject.not_checked
        if subject.probes:
            self._apply(Kind.ENVIRONMENT, subject, f"environment {subject.name}")
            self.looked[Kind.ENVIRONMENT, f"environment {subject.name}"] = None

    def _apply(self, kind: Kind, subject: Any, shown: str) -> None:
        for rule in rules.of(kind, self.more_rules):
            try:
                found = list(islice(rule().check(subject), _MOST + 1))
                for each in found:
                    _require(each, rule.id)
            except Exception as error:  # noqa: BLE001 - as above
                if rule.id in rules.BY_ID:
                    self._not_looked(f"{shown} by {rule.id}", error)
                else:
                    said = f"the rule itself ended with {type(error).__name__}: {excerpt(str(error), 200)}"
                    self._skip(f"{shown} by {rule.id}", f"{said}; tell {rules.others()[rule.id]}")
                continue
            self.ran[rule.id, shown] = None
            self.findings += found[:_MOST]
            if len(found) > _MOST:
                more = f"it has more findings than the {_MOST:,} that are listed"
                self._skip(f"{shown} by {rule.id}", more)

    def _not_looked(self, what: str, error: Exception) -> None:
        reason = f"looking at it ended with {type(error).__name__}: it is not what it says it is; look at it yourself"
        self._skip(what, reason)

    def _skip(self, what: str, reason: str) -> None:
        if len(self.not_checked) < _MOST_NOT_CHECKED:
            self.not_checked.append(NotChecked(what, reason))
        else:
            self.unnamed += 1

    def report(self, known: frozenset[str], fail_on: Severity, started: float, strict: bool) -> Report:
        """The result: the findings that count, the accepted ones, and what could not be checked."""
        left, ignored = _distinct(self.findings), _distinct(self.ignored)
        if self.use_ignores:
            ran = frozenset(rule for rule, _ in self.ran)
            left, more = accept.apply_ignores(left, self.base, ran, frozenset(self.seen), ignored)
            ignored += more
        if self.unnamed:
            self.not_checked.append(NotChecked(f"{self.unnamed:,} more", "they are too many to be named", self.unnamed))
        left, old = accept.apply_baseline(left, known)
        failed = {(each.rule, each.location.file) for each in left}
        return Report(
            version=metadata.version("rlm-secure"),
            policy=self.base.file,
            started=datetime.now(UTC),
            seconds=time.monotonic() - started,
            targets=self.seen,
            findings=tuple(sorted(left, key=_order)),
            ignored=tuple(sorted((*ignored, *old), key=lambda each: _order(each.finding))),
            not_checked=tuple(self.not_checked),
            environments=tuple(self.environments),
            checks=len(self.ran),
            failed=min(len(failed), len(self.ran)),
            fail_on=fail_on,
            strict=strict,
            rules=tuple(dict.fromkeys(rule for rule, _ in self.ran)),
        )


def _require(found: Any, rule: str) -> None:
    """Raise TypeError unless `found` is a finding of `rule` that every report can show.

    The class of a finding checks no types, and a report fails far away from the rule that made the mistake.
    """
    if not isinstance(found, Finding):
        raise TypeError(f"check yields {type(found).__name__}, and not Finding")
    if found.rule != rule:
        raise TypeError(f"check yields a finding of the rule {str(found.rule)[:80]!r}")
    place = found.location
    if not (isinstance(place, Location) and isinstance(place.line, int) and isinstance(place.column, int)):
        raise TypeError("the location of a finding is no Location with a line and a column")
    if not (isinstance(found.severity, Severity) and isinstance(found.confidence, Confidence)):
        raise TypeError("the severity or the confidence of a finding is no member of its class")
    if not (isinstance(found.weakens, tuple) and all(isinstance(each, Guarantee) for each in found.weakens)):
        raise TypeError("what a finding weakens is no tuple of members of Guarantee")


def _distinct(found: Sequence[T]) -> list[T]:
    return list(dict.fromkeys(found))


def _order(finding: Finding) -> tuple[Any, ...]:
    place = finding.location
    confidence = list(Confidence).index(finding.confidence)
    return -finding.severity.rank, -confidence, place.file, place.line, place.column, finding.rule, finding.message
