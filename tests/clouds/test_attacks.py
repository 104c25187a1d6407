"""The attack corpus in each provider's sandbox. The emulators add no wall: what holds is what the guest builds.

Every attack gets a worker of its own; a sandbox serves many, and a damaged one would fail all that come after.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from rlm_secure.broker.client import Declined, Lost
from rlm_secure.environments._cloud import CloudLease
from rlm_secure.environments.remote import Lease, RemoteSession
from rlm_secure.environments.remote.worker import KILL_SECONDS
from rlm_secure.policy import Policy
from rlm_secure.testing import battery, corpus, probe
from rlm_secure.testing.bare import Unscreened
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Layer, Needs
from rlm_secure.testing.probe import Outcome, Result
from tests.clouds.conftest import WIRES, Cloud

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]
ATTACKS = corpus.load()


class Kept(Lease):
    """A lease that outlives its sessions: closing it ends the worker, and gives the sandbox to the next session."""

    def __init__(self, fleet: Fleet, lease: CloudLease) -> None:
        self._fleet = fleet
        self.lease = lease
        self.environment = lease.environment
        self.client = lease.client
        self._open = True

    def walls(self, around: Mapping[str, Any]) -> Any:
        return self.lease.walls(around)

    @property
    def details(self) -> Mapping[str, Any]:
        return self.lease.details

    def kill(self) -> None:
        self.lease.kill()

    def epitaph(self) -> str:
        return self.lease.epitaph()

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            self.client.end(seconds=10)
        except (Lost, Declined):
            self.lease.close()
        else:
            self._fleet.free.append(self.lease)


class Fleet:
    """Sandboxes of one provider, each used by one session at a time."""

    def __init__(self, cloud: Cloud, policy: Policy) -> None:
        self._cloud = cloud
        self._policy = policy
        self._lock = threading.Lock()
        self.free: list[CloudLease] = []
        self.made: list[CloudLease] = []

    def open(self, *, screen: bool) -> Unscreened:
        with self._lock:
            lease = self.free.pop() if self.free else None
        if lease is None:
            provider = self._cloud.environment().provider(self._policy)
            lease = CloudLease(provider, self._policy, 3600, 50, 120.0)
            self.made.append(lease)
        return Unscreened(RemoteSession(Kept(self, lease), self._policy, screen=screen))

    def close(self) -> None:
        for lease in self.made:
            lease.close()


@pytest.fixture(scope="module", params=sorted(WIRES))
def outcomes(request: pytest.FixtureRequest, controls: dict[str, Control]) -> Iterator[dict[tuple[str, bool], Outcome]]:
    """The attacks on the kernel's walls without the language layer, and those on the language layer with it."""
    policy = probe.policy("strict")
    patience = pytest.MonkeyPatch()
    # A remote session ends within the supervisor's time to kill, not within the local one's slack.
    patience.setattr(probe, "_SLACK_SECONDS", probe._SLACK_SECONDS + KILL_SECONDS)
    cloud = Cloud(request.param)
    fleet = Fleet(cloud, policy)
    found: dict[tuple[str, bool], Outcome] = {}
    try:
        for screen in (False, True):
            other = Layer.KERNEL if screen else Layer.LANGUAGE
            attacks = [attack for attack in ATTACKS if attack.layer is not other]
            tried = battery.attempts(
                attacks, lambda: fleet.open(screen=screen), policy, controls, afterwards=False
            )
            found |= {(name, screen): outcome for name, outcome in tried.items()}
        yield found
    finally:
        patience.undo()
        fleet.close()
        left = cloud.emulator.live
        cloud.emulator.close()
        assert left == []


@pytest.mark.parametrize("screen", [False, True], ids=["kernel", "language"])
def test_no_attack_gets_through(outcomes: dict[tuple[str, bool], Outcome], screen: bool) -> None:
    needs = {attack.name: attack.needs for attack in ATTACKS}
    lost = [
        f"{name}: {outcome.result}: {outcome.evidence}"
        for (name, screened), outcome in outcomes.items()
        if screened == screen
        and outcome.result not in (Result.STOPPED, Result.CONTAINED)
        and not (outcome.result is Result.NOT_CHECKED and needs[name] is not Needs.NOTHING)
    ]
    assert not lost, "\n".join(lost)


def test_walls_are_named_for_nearly_every_raw_attack(outcomes: dict[tuple[str, bool], Outcome]) -> None:
    raw = [outcomes[attack.name, False] for attack in ATTACKS if attack.layer is Layer.KERNEL]
    stopped = [outcome for outcome in raw if outcome.result is Result.STOPPED]
    assert len(raw) > 100 and len(stopped) > 0.8 * len(raw)
    assert all(outcome.wall is not None for outcome in stopped)
