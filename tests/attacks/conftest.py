"""Each battery runs once; the tests look up what became of their attack."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.testing import battery, corpus, judge, unscreened
from rlm_secure.testing.session import Session
from rlm_secure.testing.verdict import Result, Verdict

ATTACKS = corpus.load()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for a battery waits for all of it."""
    for item in items:
        if "tests/attacks" in str(item.path):
            item.add_marker(pytest.mark.timeout(300))


def each(attacks: tuple[corpus.Attack, ...]) -> pytest.MarkDecorator:
    """Parametrise over attacks, by name."""
    return pytest.mark.parametrize("attack", [pytest.param(attack, id=attack.name) for attack in attacks])


def stands(attack: corpus.Attack, outcome: Verdict) -> bool:
    """Whether the guarantee held, by evidence."""
    if outcome.result is Result.NOT_CHECKED:
        return attack.excuse is not corpus.Excuse.NOTHING
    return outcome.held


def run(
    attacks: tuple[corpus.Attack, ...], open_session: Callable[[], Session], policy, controls, *, layered: bool
) -> dict[str, Verdict]:
    """A battery in which an attack that wins spoils nothing for the next one."""

    def renew(outcome: Verdict) -> None:
        if outcome.result is Result.WON:
            pool.drain()
            zygote(Plan()).retire()

    def patiently() -> Session:
        try:
            return open_session()
        except EnvironmentUnavailable:
            pool.drain()
            zygote(Plan()).retire()
            return open_session()

    return battery.attempts(attacks, patiently, policy, controls, layered=layered, heard=renew)


@pytest.fixture(scope="session")
def without_language(controls) -> dict[str, Verdict]:
    """Every attack, in plain Python behind the walls of the kernel alone."""
    policy = judge.policy("strict")
    return run(ATTACKS, lambda: unscreened(policy=policy), policy, controls, layered=False)


@pytest.fixture(scope="session")
def with_language(controls) -> dict[str, Verdict]:
    """Every attack that needs no ctypes, in the sandbox as it is."""
    policy = judge.policy("strict")
    return run(corpus.for_layer(ATTACKS, screened=True), lambda: Sandbox(policy=policy), policy, controls, layered=True)


@pytest.fixture(scope="session")
def with_most_modules(controls) -> dict[str, Verdict]:
    """The attacks on the language layer, under the policy that offers the most modules to attack it with."""
    policy = judge.policy("research")
    attacks = tuple(attack for attack in ATTACKS if attack.layer is corpus.Layer.LANGUAGE)
    return run(attacks, lambda: Sandbox(policy=policy), policy, controls, layered=True)
