"""The program that attacks an environment, in the arena: `python -m rlm_secure.audit.attack DESCRIPTOR`.

Reads a Job from standard input; writes one line for each attempt, and the EnvironmentSubject at the end, to DESCRIPTOR.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from rlm_secure.audit.finding import NotChecked
from rlm_secure.audit.subject import JOB, SUBJECT, EnvironmentSubject, Job, Probe, Progress, is_foreign
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra, Refused, RLMSecureError
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.inert import excerpt
from rlm_secure.policy import Policy
from rlm_secure.registry import ENVIRONMENTS
from rlm_secure.testing import arena, battery
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Attack, Excuse, Layer, Win
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.judge import bounds_of
from rlm_secure.testing.judge import policy as low_limits
from rlm_secure.testing.session import Session, SessionFailed
from rlm_secure.testing.verdict import Result, Verdict

#: With --quick: the number of attacks on each guarantee, for each layer.
_QUICK = 3
_SLOW = (Win.OUTLASTS, Win.REMAINS)
_TRIES = 8
_PAUSE_SECONDS = 0.5


def main() -> int:
    """Attack the job's environment, and write progress and the result to the caller."""
    with os.fdopen(int(sys.argv[1]), "wb") as told:
        lock = threading.Lock()

        def tell(kind: bytes, value: bytes) -> None:
            with lock:
                told.write(kind + b" " + value + b"\n")
                told.flush()

        job = JOB.validate_json(sys.stdin.buffer.read())
        try:
            if is_foreign(job.name):
                arena.stand_above()
            subject = attack_here(job, lambda *step: tell(b"step", json.dumps(step).encode()))
        except (arena.ArenaRefused, ValueError) as error:
            tell(b"refused", json.dumps(str(error)).encode())
            return 2
        tell(b"subject", SUBJECT.dump_json(subject))
    return 0


@dataclass(frozen=True, slots=True)
class Ground:
    """A way to open sessions of one of our environments. `screened` says whether they have a language layer."""

    open: Callable[[Policy], Session]
    screened: bool


def attack_here(job: Job, progress: Progress | None = None) -> EnvironmentSubject:
    """Attack the job's environment, in the arena that this process is in. Raises NotInArena outside one."""
    arena.require()
    started = time.monotonic()
    policy = Policy.model_validate_json(job.policy)
    run = _Run(job, low_limits(policy), progress)
    corpus = job.corpus()
    missing: tuple[Wall, ...] = ()
    try:
        if is_foreign(job.name):
            run.foreign(corpus)
        else:
            run.ours(corpus)
            missing = run.report.missing(policy.isolation.required(job.name)) if run.report else ()
    except (EnvironmentUnavailable, MissingExtra, Refused, SessionFailed) as error:
        run.give_up(str(error), getattr(error, "trace", ""))
    except Exception as error:  # code of another distribution may raise anything
        if is_foreign(job.name) or job.name in ENVIRONMENTS:
            raise
        run.give_up(f"{job.name} raised {type(error).__name__}: {excerpt(str(error))}", traceback.format_exc())
    about = arena.inside()
    return EnvironmentSubject(
        job.name,
        run.report,
        missing,
        tuple(run.probes),
        tuple(run.notes),
        run.left_out,
        time.monotonic() - started,
        str(about) if about else None,
        run.trouble,
        run.trace,
    )


def grounds(name: str) -> tuple[Ground, ...]:
    """The ways to open sessions of one of our environments: with the language layer and, for `local`, without it."""
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.testing import unscreened

    found = [Ground(lambda policy: Sandbox(policy=policy, environment=name), screened=True)]
    if name == "local":
        found.append(Ground(lambda policy: unscreened(name, policy), screened=False))
    return tuple(found)


class _Run:
    """The state of one running audit of one environment."""

    def __init__(self, job: Job, policy: Policy, progress: Progress | None) -> None:
        self.report: EnforcementReport | None = None
        self.probes: list[Probe] = []
        self.notes: list[NotChecked] = []
        self.left_out = 0
        self.trouble = self.trace = ""
        self._job = job
        self._policy = policy
        self._progress = progress
        self._total = self._done = 0
        self._lock = threading.Lock()
        self._checked: dict[str, Control] = {}

    def give_up(self, reason: str, trace: str) -> None:
        """Record the reason why nothing can be judged."""
        self.trouble, self.trace = reason, trace
        self.notes.append(NotChecked(f"environment {self._job.name}", reason))

    def ours(self, corpus: list[Attack]) -> None:
        """Attack one of our environments, on each of its grounds."""
        name = self._job.name
        chosen = [(ground, self._chosen(corpus, ground.screened)) for ground in grounds(name)]
        self._total = sum(len(attacks) for _, attacks in chosen)
        if name != "local":
            self.notes.append(
                NotChecked(f"{name} without its language layer", "there is no way to open such a session")
            )
        self._note_left_out()
        for ground, attacks in chosen:
            session = ground.open(self._policy)
            report = session.report
            session.close()
            self.report = report if ground.screened or self.report is None else self.report
            self._attack(attacks, partial(self._open, ground), screened=ground.screened)

    def foreign(self, corpus: list[Attack]) -> None:
        """Attack foreign sessions with all attacks: whether they have a language layer is not known."""
        attacks = self._chosen(corpus, None)
        self._total = len(attacks)
        self._note_left_out()
        ground = ForeignGround(self._job.name, bounds_of(self._policy))
        try:
            self._attack(attacks, ground, screened=False)
        finally:
            ground.close()
        judged = {probe.guarantee for probe in self.probes if probe.result not in (Result.NOT_CHECKED, Result.ERRORED)}
        for guarantee in Guarantee:
            if guarantee in {attack.guarantee for attack in attacks} - judged:
                what = f"{guarantee.value} of {self._job.name}"
                self.notes.append(NotChecked(what, "no attack on it could be judged in this session"))

    def _attack(
        self, attacks: list[Attack], sessions: Callable[[], Session] | ForeignGround, *, screened: bool
    ) -> None:
        verdicts: dict[str, Verdict] = {}

        def heard(verdict: Verdict) -> None:
            verdicts[verdict.name] = verdict
            self._tell(verdict.name)

        reason = "its session could not be started"
        foreign = isinstance(sessions, ForeignGround)
        try:
            battery.attempts(
                attacks,
                sessions,
                self._policy,
                self._controls(attacks),
                layered=screened or foreign,
                seconds=self._job.deadline,
                heard=heard,
            )
        except SessionFailed:
            raise
        except RLMSecureError as error:  # no session can be opened any more; the other attacks count as ERRORED
            reason = str(error)
        for each in attacks:
            self._add(each, screened, verdicts.get(each.name), reason)

    def _controls(self, attacks: list[Attack]) -> dict[str, Control]:
        """The control of each attack. Run for own attacks, and without --quick for those with an excuse; our tests
        show that all others win. An attack on a second ground keeps its control of the first."""
        own = {each.name for each in self._job.own}
        known = {each.name: Control(each.name, True, "", each.excuse, each.reason) for each in attacks}
        doubtful = [
            each for each in attacks if each.name in own or (each.excuse is not Excuse.NOTHING and not self._job.quick)
        ]
        unchecked = [each for each in doubtful if each.name not in self._checked]
        self._checked |= battery.controls(unchecked, bounds_of(self._policy), heard=self._tell_control)
        return known | self._checked

    def _chosen(self, corpus: list[Attack], screened: bool | None) -> list[Attack]:
        """The attacks to run: without those of the KERNEL layer if `screened`, of LANGUAGE if not; all if None."""
        other = {True: Layer.KERNEL, False: Layer.LANGUAGE}.get(screened) if screened is not None else None
        fitting = [each for each in corpus if each.layer is not other]
        own = [each for each in fitting if each in self._job.own]
        found = [*own, *_quick([each for each in fitting if each not in own])] if self._job.quick else fitting
        self.left_out += len(fitting) - len(found)
        return found

    def _note_left_out(self) -> None:
        if self.left_out:
            what = f"{self.left_out} attacks on {self._job.name}"
            self.notes.append(NotChecked(what, "left out by --quick", self.left_out))

    def _open(self, ground: Ground) -> Session:
        """Open a session, retrying while none is available: a busy machine is no finding."""
        for _ in range(_TRIES - 1):
            try:
                return ground.open(self._policy)
            except EnvironmentUnavailable:
                time.sleep(_PAUSE_SECONDS)
        return ground.open(self._policy)

    def _tell_control(self, control: Control) -> None:
        """A sign of life: a caller who hears nothing for long kills the arena."""
        if self._progress:
            self._progress(self._done, self._total, control.name)

    def _tell(self, name: str) -> None:
        with self._lock:
            self._done += 1
            if self._progress:
                self._progress(self._done, self._total, name)

    def _add(self, each: Attack, screened: bool, verdict: Verdict | None, reason: str) -> None:
        found = verdict or Verdict(each.name, each.guarantee, Result.ERRORED, None, reason, 0.0)
        self.probes.append(
            Probe(
                each.name,
                each.summary,
                each.guarantee,
                screened,
                found.result,
                found.wall,
                found.evidence,
                found.seconds,
                found.reach,
            )
        )


def _quick(attacks: list[Attack]) -> Iterator[Attack]:
    taken: Counter[tuple[Guarantee, Layer]] = Counter()
    for each in attacks:
        kind = (each.guarantee, each.layer)
        if each.wins not in _SLOW and each.excuse is Excuse.NOTHING and taken[kind] < _QUICK:
            taken[kind] += 1
            yield each


if __name__ == "__main__":
    sys.exit(main())
