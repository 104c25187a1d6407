"""Each battery runs once; the tests look up what became of their attack. And what several files share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.testing import battery, corpus, judge, unscreened
from rlm_secure.testing.foreign import ForeignProgram
from rlm_secure.testing.session import Session
from rlm_secure.testing.target import Target
from rlm_secure.testing.verdict import Result, Verdict
from tests.attacks.cells import named, opened
from tests.attacks.puppets import Trial

ATTACKS = corpus.load()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for a battery waits for all of it."""
    for item in items:
        if "tests/attacks" in str(item.path):
            item.add_marker(pytest.mark.timeout(900))


def each(attacks: tuple[corpus.Attack, ...]) -> pytest.MarkDecorator:
    """Parametrise over attacks, by name."""
    return pytest.mark.parametrize("attack", [pytest.param(attack, id=attack.name) for attack in attacks])


def stands(attack: corpus.Attack, outcome: Verdict) -> bool:
    """Whether the guarantee held, by evidence."""
    if outcome.result is Result.NOT_CHECKED:
        return attack.excuse is not corpus.Excuse.NOTHING
    return outcome.held


def run(
    attacks: tuple[corpus.Attack, ...], kind: Callable[..., Session], base: str, controls, *, layered: bool
) -> dict[str, Verdict]:
    """A battery in which an attack that wins spoils nothing for the next one."""
    policy = judge.policy(base)
    plan = Plan(packages=policy.language.packages)

    def renew(outcome: Verdict) -> None:
        if outcome.result is Result.WON:
            pool.drain()
            zygote(plan).retire()

    def patiently() -> Session:
        try:
            return kind(policy=policy)
        except EnvironmentUnavailable:
            pool.drain()
            zygote(plan).retire()
            return kind(policy=policy)

    return battery.attempts(attacks, patiently, policy, controls, layered=layered, heard=renew)


@pytest.fixture(scope="session")
def without_language(controls) -> dict[str, Verdict]:
    """Every attack, in plain Python behind the walls of the kernel alone."""
    return run(ATTACKS, unscreened, "strict", controls, layered=False)


@pytest.fixture(scope="session")
def with_language(controls) -> dict[str, Verdict]:
    """Every attack that needs no ctypes, in the sandbox as it is."""
    return run(corpus.for_layer(ATTACKS, screened=True), Sandbox, "strict", controls, layered=True)


@pytest.fixture(scope="session")
def with_most_modules(controls) -> dict[str, Verdict]:
    """The attacks on the language layer, under the policy that offers the most modules to attack it with."""
    attacks = tuple(attack for attack in ATTACKS if attack.layer is corpus.Layer.LANGUAGE)
    return run(attacks, Sandbox, "research", controls, layered=True)


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target() as made:
        yield made


@pytest.fixture
def tried(target: Target) -> Iterator[Trial]:
    """What lets puppets attack the target, which is mended after each test."""
    yield Trial(target)
    target.reset()


@pytest.fixture(scope="module")
def cells(target: Target) -> Iterator[ForeignProgram]:
    """The program of hosts that `program` opens sessions in."""
    with opened(target, named("Cells")) as program:
        yield program


@pytest.fixture
def program(cells: ForeignProgram) -> ForeignProgram:
    """What opens sessions in a host that is new for each test."""
    cells.begin()
    return cells
