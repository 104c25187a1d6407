"""Run many attacks: all controls, or all attempts on one kind of session.

Attacks that only wait run in parallel, each thread with its own target; the others run one by one, so that changes
seen on the host (processes, memory) can only come from the current attack.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rlm_secure.policy import Policy
from rlm_secure.testing.control import Control, control
from rlm_secure.testing.corpus import Attack, Win
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.judge import BOUNDS, SIDE_BY_SIDE, attempt
from rlm_secure.testing.session import Session
from rlm_secure.testing.target import Bounds, Target
from rlm_secure.testing.verdict import Verdict, not_checked

_T = TypeVar("_T")

#: A control that lost gets this many times its usual time when it is run again.
_PATIENCE = 4

#: Called with each result as it arrives, in no particular order: for progress bars.
Listener = Callable[[_T], None]


def controls(
    attacks: Iterable[Attack], bounds: Bounds = BOUNDS, *, heard: Listener[Control] | None = None
) -> dict[str, Control]:
    """The control of every attack, by the attack's name."""
    with _attackers() as (pool, target):
        done = {}
        for result in pool.map(lambda attack: control(attack, target(), bounds), list(attacks)):
            done[result.name] = result
            if heard is not None:
                heard(result)
        return done


def patient_controls(attacks: Iterable[Attack], bounds: Bounds = BOUNDS) -> dict[str, Control]:
    """As `controls`, but a control that lost is run once more, alone and with more time: the machine may be busy."""
    attacks = list(attacks)
    found = controls(attacks, bounds)
    with Target() as target:
        for attack in attacks:
            if not found[attack.name].won and not found[attack.name].excused:
                found[attack.name] = control(attack, target, bounds, patience=_PATIENCE)
    return found


def attempts(
    attacks: Iterable[Attack],
    sessions: Callable[[], Session] | ForeignGround,
    policy: Policy,
    checked: Mapping[str, Control],
    *,
    afterwards: bool = True,
    layered: bool = True,
    seconds: float = math.inf,
    heard: Listener[Verdict] | None = None,
) -> dict[str, Verdict]:
    """The verdict on every attack, by the attack's name.

    `sessions` is a function that opens one of our sessions, or a ForeignGround. `checked` holds the controls; an attack
    whose control did not win is run anyway, and reported NOT_CHECKED unless it wins. `afterwards=False` skips the check
    after each attack that other sessions still work: the next attack's session shows that too, but under the wrong
    name. After `seconds` no further attack is run. `layered` is passed to judge.attempt. Raises what opening a session
    raises, but SessionFailed only if no session can be opened at all.
    """
    attacks = list(attacks)
    deadline = time.monotonic() + seconds

    def run(attack: Attack, target: Target) -> Verdict:
        known = checked.get(attack.name)
        return attempt(
            attack,
            sessions.opener(target) if isinstance(sessions, ForeignGround) else sessions,
            target,
            policy,
            checked=known is not None and known.won,
            afterwards=afterwards,
            layered=layered,
        )

    def judged(attack: Attack, target: Target) -> Verdict:
        if time.monotonic() > deadline:
            verdict = not_checked(attack, f"the time for all attacks was over after {seconds:.0f} s")
        elif reason := lacks(attack):
            verdict = not_checked(attack, reason)
        else:
            verdict = run(attack, target)
        if heard is not None:
            heard(verdict)
        return verdict

    with _attackers() as (pool, target):
        lacks = sessions.abilities(target()).lacks if isinstance(sessions, ForeignGround) else _nothing
        lasting = [attack for attack in attacks if attack.wins is Win.OUTLASTS]
        verdicts = [judged(attack, target()) for attack in attacks if attack.wins is not Win.OUTLASTS]
        verdicts += pool.map(lambda attack: judged(attack, target()), lasting)
    return {verdict.name: verdict for verdict in verdicts}


def _nothing(_attack: Attack) -> str:
    return ""  # our own sessions have everything that an attack may need


@contextlib.contextmanager
def _attackers() -> Iterator[tuple[ThreadPoolExecutor, Callable[[], Target]]]:
    """A thread pool, and a function that returns the calling thread's own target."""
    local = threading.local()
    made: list[Target] = []

    def target() -> Target:
        if not hasattr(local, "target"):
            local.target = Target()
            made.append(local.target)
        return local.target  # type: ignore[no-any-return]  # threading.local has no types

    try:
        with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="rlm_secure-attack") as pool:
            yield pool, target
    finally:
        for each in made:
            each.close()
