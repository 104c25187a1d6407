"""Attacks an environment with the corpus in sandboxes/attacks, and keeps what became of each attempt."""

from __future__ import annotations

import importlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlm_secure.audit.finding import NotChecked
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra, RLMSecureError
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.testing import battery
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Attack, Layer, Needs, Win, load
from rlm_secure.testing.probe import Outcome, Result, Session, bounds_of
from rlm_secure.testing.probe import policy as low_limits

if TYPE_CHECKING:
    from rlm_secure.policy import Policy

#: Gives a fresh session under a policy.
Opener = Callable[["Policy"], Session]
#: Told after each attempt: how many are done, how many there are, and which it was. From any thread.
Progress = Callable[[int, int, str], None]

#: With --quick: so many attacks on each guarantee, for each layer.
_QUICK = 3
_SLOW = (Win.OUTLASTS, Win.REMAINS)
_TRIES = 8
_PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ground:
    """A way to open sessions of one environment. `screened` says whether they have a language layer."""

    name: str
    open: Opener
    screened: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """One attack on one ground, and what became of it."""

    name: str
    summary: str
    guarantee: Guarantee
    screened: bool
    result: Result
    wall: Wall | None
    evidence: str
    seconds: float


@dataclass(frozen=True, slots=True)
class EnvironmentSubject:
    """An environment that was attacked: its report, and what became of every attack. `left_out` were not run."""

    name: str
    report: EnforcementReport | None
    missing: tuple[Wall, ...]
    probes: tuple[Probe, ...]
    not_checked: tuple[NotChecked, ...]
    left_out: int
    seconds: float

    def count(self, result: Result) -> int:
        """How many attempts ended like this."""
        return sum(probe.result is result for probe in self.probes)

    def count_not_checked(self) -> int:
        """How many attempts prove nothing."""
        return self.count(Result.NOT_CHECKED)

    def walls(self) -> Counter[str]:
        """How often each wall stopped an attack."""
        return Counter(probe.wall.value for probe in self.probes if probe.wall and probe.result is Result.STOPPED)


def grounds(name: str) -> tuple[Ground, ...]:
    """The ways to open sessions of an environment: with its language layer and, where there is a way, without.

    `name` is one of ours, or `package.module:function` of yours: it is called with a policy and returns an object
    with `report`, `run(code, timeout=None)` and `close()`. Raises ValueError for a name that leads nowhere.
    """
    module, colon, attribute = name.partition(":")
    if colon:
        return _foreign(name, module, attribute)
    from rlm_secure.environments import PLACES
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.testing import unscreened

    if name not in PLACES:
        raise ValueError(f"unknown environment {name[:80]!r}; known: {', '.join(PLACES)}, or package.module:function")
    found = [Ground(name, lambda policy: Sandbox(policy=policy, environment=name), screened=True)]
    if name == "local":
        found.append(Ground(name, lambda policy: unscreened(name, policy), screened=False))
    return tuple(found)


def _foreign(name: str, module: str, attribute: str) -> tuple[Ground, ...]:
    try:
        opener: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"environment {name[:80]!r} cannot be imported: {error}") from None
    return (Ground(name, opener, screened=bool(getattr(opener, "screened", False))),)


def attack(
    name: str,
    policy: Policy,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    choose: Callable[[Attack], bool] | None = None,
) -> EnvironmentSubject:
    """Attack the environment called `name` under `policy`, with limits so low that each attack ends soon.

    Never raises for what an attack does. `choose` leaves out attacks. Raises ValueError for an unknown environment.
    """
    started = time.monotonic()
    corpus = [each for each in load() if choose is None or choose(each)]
    run = _Run(name, low_limits(policy), progress)
    chosen = [(ground, list(_chosen(corpus, ground, quick))) for ground in grounds(name)]
    run.total = sum(len(attacks) for _, attacks in chosen)
    left_out = sum(len(list(_chosen(corpus, ground, quick=False))) for ground, _ in chosen) - run.total
    if name != "local" and ":" not in name:
        run.note(f"{name} without its language layer", "there is no way to open such a session")
    try:
        for ground, attacks in chosen:
            run.all(ground, attacks, controls=not quick)
    except (EnvironmentUnavailable, MissingExtra) as error:
        run.note(f"environment {name}", str(error))
    missing = run.report.missing(_required(policy, name)) if run.report else ()
    if left_out:
        run.note(f"{left_out} attacks on {name}", "left out by --quick")
    seconds = time.monotonic() - started
    return EnvironmentSubject(name, run.report, missing, tuple(run.probes), tuple(run.notes), left_out, seconds)


def _required(policy: Policy, name: str) -> tuple[Wall, ...]:
    # An environment of yours is held to what ours on the same machine are held to.
    return policy.isolation.required("local" if ":" in name else name)


def _chosen(corpus: list[Attack], ground: Ground, quick: bool) -> Iterator[Attack]:
    """Attacks on the language layer where there is one, attacks on the kernel's walls where there is none."""
    taken: Counter[Guarantee] = Counter()
    for each in corpus:
        if each.layer is (Layer.KERNEL if ground.screened else Layer.LANGUAGE):
            continue
        if quick and (each.wins in _SLOW or each.needs is not Needs.NOTHING or taken[each.guarantee] >= _QUICK):
            continue
        taken[each.guarantee] += 1
        yield each


class _Run:
    """One audit of one environment, while it goes on."""

    def __init__(self, name: str, policy: Policy, progress: Progress | None) -> None:
        self.total = 0
        self.report: EnforcementReport | None = None
        self.probes: list[Probe] = []
        self.notes: list[NotChecked] = []
        self._name = name
        self._policy = policy
        self._progress = progress
        self._done = 0
        self._lock = threading.Lock()

    def note(self, what: str, reason: str) -> None:
        self.notes.append(NotChecked(what, reason))

    def all(self, ground: Ground, attacks: list[Attack], *, controls: bool) -> None:
        """Every attack on one ground."""
        session = ground.open(self._policy)
        report = session.report
        session.close()
        if ground.screened or self.report is None:
            self.report = report
        outcomes: dict[str, Outcome] = {}

        def heard(outcome: Outcome) -> None:
            outcomes[outcome.name] = outcome
            self._tell(outcome.name)

        reason = "its session could not be started"
        try:
            checked = self._checked(attacks, controls)
            battery.attempts(attacks, lambda: self._open(ground), self._policy, checked, heard=heard)
        except RLMSecureError as error:  # the machine gives no sessions any more, which says nothing about the rest
            reason = str(error)
        for each in attacks:
            outcome = outcomes.get(each.name)
            self._add(each, ground, outcome, reason)

    def _checked(self, attacks: list[Attack], controls: bool) -> dict[str, Control]:
        """Whether each attack wins in plain Python here. The tests show it for those that win everywhere."""
        known = {each.name: Control(each.name, True, "", each.needs, each.reason) for each in attacks}
        doubtful = [each for each in attacks if each.needs is not Needs.NOTHING]
        return known | (battery.controls(doubtful, bounds_of(self._policy)) if controls else {})

    def _open(self, ground: Ground) -> Session:
        """A session, after some patience: a machine at its limits is no finding."""
        for _ in range(_TRIES - 1):
            try:
                return ground.open(self._policy)
            except EnvironmentUnavailable:
                time.sleep(_PAUSE_SECONDS)
        return ground.open(self._policy)

    def _tell(self, name: str) -> None:
        with self._lock:
            self._done += 1
            if self._progress:
                self._progress(self._done, self.total, name)

    def _add(self, each: Attack, ground: Ground, outcome: Outcome | None, reason: str) -> None:
        result, wall, evidence, seconds = Result.NOT_CHECKED, None, reason, 0.0
        if outcome:
            result, wall, evidence, seconds = outcome.result, outcome.wall, outcome.evidence, outcome.seconds
        guarantee, screened = each.guarantee, ground.screened
        self.probes.append(Probe(each.name, each.summary, guarantee, screened, result, wall, evidence, seconds))
