"""The whole attack corpus in containers: every attack on a worker of its own, with and without the language layer.

At night all of it; otherwise a third of it, and an attack on the language alone is tried where that stands, and once
more without it only on this machine (tests/attacks/test_kernel.py).

Containers are used again, workers never are: what an attack did to one is gone with it, or is a finding.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.signed import Around
from rlm_secure.environments.docker import DockerEnvironment, DockerLease
from rlm_secure.environments.docker.engine import connect
from rlm_secure.environments.remote import Lease, RemoteSession
from rlm_secure.errors import EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Wall, WallStatus
from rlm_secure.policy import Policy
from rlm_secure.testing import Unscreened, battery, corpus, judge
from rlm_secure.testing.control import Control
from rlm_secure.testing.session import Habits
from rlm_secure.testing.verdict import Result, Verdict
from tests.attacks.conftest import ATTACKS, each, stands
from tests.share import share, turn

pytestmark = [pytest.mark.attack, pytest.mark.slow, pytest.mark.timeout(900)]


class Kept(Lease):
    """A lease that goes back to its containers when its session is over."""

    environment = "docker"

    def __init__(self, lease: DockerLease, containers: ContainerPool) -> None:
        self._lease = lease
        self._containers = containers
        self._killed = False

    @property
    def client(self) -> BrokerClient:  # type: ignore[override]
        return self._lease.client

    def walls(self, around: Around) -> Iterable[WallStatus]:
        return self._lease.walls(around)

    @property
    def details(self) -> Mapping[str, Any]:
        return self._lease.details

    def kill(self) -> None:
        self._killed = True  # by its host, whose cell is late: that is a finding of its own
        self._lease.kill()

    def exit_reason(self) -> str:
        return self._lease.exit_reason()

    def close(self) -> None:
        try:
            self.client.end(seconds=20)
            self._containers.give_back(self._lease)
        except (Lost, Declined, ProtocolViolation) as error:
            if not self._killed:
                self._containers.broken.append(str(error))
            self._lease.close()


class ContainerPool:
    """Containers that are not in use."""

    def __init__(self, image: str, policy: Policy) -> None:
        self._image = image
        self._policy = policy
        self._lock = threading.Lock()
        self._idle: list[DockerLease] = []
        self.broken: list[str] = []

    def session(self, *, screen: bool) -> Unscreened:
        with self._lock:
            lease = self._idle.pop() if self._idle else None
        for last in (False, True):
            lease = lease or DockerLease(connect(), self._policy, self._image, "unix")
            try:
                # The language layer is the only wall whose absence is accepted.
                return Unscreened(RemoteSession(Kept(lease, self), self._policy, screen=screen))
            except EnvironmentUnavailable:  # its container has gone since; no attack has begun
                lease = None
                if last:
                    raise
        raise AssertionError("the second round returns")

    def give_back(self, lease: DockerLease) -> None:
        with self._lock:
            self._idle.append(lease)

    def close(self) -> None:
        for lease in self._idle:
            lease.close()


@pytest.fixture(scope="module")
def containers(place: DockerEnvironment, image: str) -> Iterator[ContainerPool]:
    made = ContainerPool(image, judge.policy("strict"))
    try:
        # As many as a judge uses beside each other: one that starts amid a verdict takes longer than those before it.
        for session in [made.session(screen=True) for _ in range(1 + Habits().beside)]:
            session.close()
        yield made
    finally:
        made.close()


PUSHES = 3  # share the attacks
ON_LANGUAGE = tuple(attack for attack in ATTACKS if attack.layer is corpus.Layer.LANGUAGE)
ON_KERNEL = share([attack for attack in ATTACKS if attack not in ON_LANGUAGE], PUSHES)
SCREENED = share(corpus.for_layer(ATTACKS, screened=True), PUSHES)


@pytest.fixture(scope="module")
def without_language(containers: ContainerPool, controls: dict[str, Control]) -> dict[str, Verdict]:
    return battery.attempts(
        ON_KERNEL, lambda: containers.session(screen=False), judge.policy("strict"), controls, layered=False
    )


@pytest.fixture(scope="module")
def language_without_language(containers: ContainerPool, controls: dict[str, Control]) -> dict[str, Verdict]:
    return battery.attempts(
        ON_LANGUAGE, lambda: containers.session(screen=False), judge.policy("strict"), controls, layered=False
    )


@pytest.fixture(scope="module")
def with_language(containers: ContainerPool, controls: dict[str, Control]) -> dict[str, Verdict]:
    return battery.attempts(SCREENED, lambda: containers.session(screen=True), judge.policy("strict"), controls)


@each(ON_KERNEL)
def test_the_attack_does_not_get_through_the_kernel(attack, without_language) -> None:
    outcome = without_language[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


@pytest.mark.exhaustive
@each(ON_LANGUAGE)
def test_an_attack_on_the_language_does_not_get_through_the_kernel_alone(attack, language_without_language) -> None:
    outcome = language_without_language[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


@each(SCREENED)
def test_the_attack_does_not_get_through_the_language(attack, with_language) -> None:
    outcome = with_language[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


def test_forbidden_calls_are_violations_here_as_well(without_language) -> None:
    stopped = [outcome for outcome in without_language.values() if outcome.result is Result.STOPPED]
    assert len([outcome for outcome in stopped if outcome.wall is Wall.SECCOMP]) > (75 if turn() is None else 20)


def test_no_attack_broke_its_container(containers, without_language, with_language) -> None:
    assert containers.broken == []
