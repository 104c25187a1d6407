"""Many attacks at once: all controls, or all attempts on one kind of session.

Attacks that only wait run side by side, each worker with a target of its own; the others run one by one, so that
what is seen on the host (processes, memory) is theirs alone.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rlm_secure.errors import RLMSecureError
from rlm_secure.policy import Policy
from rlm_secure.testing.control import Control, control
from rlm_secure.testing.corpus import Attack, Win
from rlm_secure.testing.probe import BOUNDS, Outcome, Session, attempt
from rlm_secure.testing.target import Bounds, Target

_WORKERS = 4
#: So often, and so much later, is an attack tried again that won nothing but time.
_REPEATS = 3
_PAUSE_SECONDS = 0.5
_T = TypeVar("_T")

#: Called with each result as it comes, in no particular order: for progress bars.
Listener = Callable[[_T], None]


def controls(
    attacks: Iterable[Attack], bounds: Bounds = BOUNDS, *, heard: Listener[Control] | None = None
) -> dict[str, Control]:
    """The control of every attack, by the attack's name."""
    with _crew() as (pool, target):
        done = {}
        for result in pool.map(lambda attack: control(attack, target(), bounds), list(attacks)):
            done[result.name] = result
            if heard is not None:
                heard(result)
        return done


def patient_controls(attacks: Iterable[Attack], bounds: Bounds = BOUNDS) -> dict[str, Control]:
    """As `controls`; on a machine that is busy with other things one may run out of time, and is tried again."""
    attacks = list(attacks)
    found = controls(attacks, bounds)
    lost = [attack for attack in attacks if not found[attack.name].won and not found[attack.name].excused]
    return found | controls(lost, bounds)


def patient_attempt(
    attack: Attack, open_session: Callable[[], Session], target: Target, policy: Policy, **options: bool
) -> Outcome:
    """As `attempt`; a machine that is busy with other things is late too, so who wins only time must win it again."""
    outcome = attempt(attack, open_session, target, policy, **options)
    for _ in range(_REPEATS):
        if not outcome.late:
            break
        time.sleep(_PAUSE_SECONDS)
        with contextlib.suppress(RLMSecureError):  # no session starts: it has won until one does
            outcome = attempt(attack, open_session, target, policy, **options)
    return outcome


def attempts(
    attacks: Iterable[Attack],
    open_session: Callable[[], Session],
    policy: Policy,
    checked: Mapping[str, Control],
    *,
    afterwards: bool = True,
    heard: Listener[Outcome] | None = None,
) -> dict[str, Outcome]:
    """The outcome of every attack on sessions of `open_session`, by the attack's name.

    `checked` are the controls; an attack whose control did not win is run all the same, and reported NOT_CHECKED
    unless it wins. Without `afterwards` it is not tried after each whether other sessions still work: the session of
    the next attack shows that as well, only under another name. Raises what `open_session` raises.
    """
    quick: list[Attack] = []
    lasting: list[Attack] = []
    for attack in attacks:
        (lasting if attack.wins is Win.OUTLASTS else quick).append(attack)

    def run(attack: Attack, target: Target) -> Outcome:
        known = checked.get(attack.name)
        won = known is not None and known.won
        outcome = patient_attempt(attack, open_session, target, policy, checked=won, afterwards=afterwards)
        if heard is not None:
            heard(outcome)
        return outcome

    with _crew() as (pool, target):
        outcomes = [run(attack, target()) for attack in quick]
        outcomes += pool.map(lambda attack: run(attack, target()), lasting)
    return {outcome.name: outcome for outcome in outcomes}


@contextlib.contextmanager
def _crew() -> Iterator[tuple[ThreadPoolExecutor, Callable[[], Target]]]:
    """A thread pool, and a function that gives each thread the target that is its own."""
    local = threading.local()
    made: list[Target] = []

    def target() -> Target:
        if not hasattr(local, "target"):
            local.target = Target()
            made.append(local.target)
        return local.target  # type: ignore[no-any-return]  # threading.local has no types

    try:
        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="rlm_secure-attack") as pool:
            yield pool, target
    finally:
        for each in made:
            each.close()
