"""The attack corpus in each provider's sandbox. The emulators add no wall: what holds is what the guest builds.

Every attack gets a worker of its own; a sandbox serves many, and a damaged one would fail all that come after.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from rlm_secure.broker.client import Declined, Lost
from rlm_secure.environments.cloud import base as _cloud
from rlm_secure.environments.cloud.lease import CloudLease
from rlm_secure.environments.quota import SharedSandboxes
from rlm_secure.testing import battery, corpus, judge
from rlm_secure.testing.bare import Unscreened
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Excuse, Layer
from rlm_secure.testing.session import Habits
from rlm_secure.testing.verdict import Result, Verdict
from tests.clouds.conftest import BUILDERS, Cloud

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.timeout(600),
    pytest.mark.slow,
]
ATTACKS = corpus.load()
#: Whether every attack is followed by a look at how other sessions fare; locally and in Docker it always is.
EVERYTHING = os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1"
#: Every attack runs in one provider's sandbox each time; in all four of them it takes ten minutes. Those in pods need an
#: arena with an engine: test_pods_attacked.py.
SHARES = [
    pytest.param((provider, share), id=f"{provider}-{share}", marks=marks)
    for provider in BUILDERS
    for share, marks in (("share", ()), ("rest", pytest.mark.exhaustive))
]


class Enduring(CloudLease):
    """A sandbox that the next session gets whatever happened in it."""

    def close(self) -> None:
        """End the worker; the sandbox with its tree, or where it does not answer."""
        if self.use is None or self.use.shared.closed or not hasattr(self, "client"):
            super().close()
            return
        try:
            self.client.end(seconds=10, fresh=True)
        except (Lost, Declined):
            super().close()
        else:
            self._quota.keep(self)


def attacks_of(provider: str, share: str) -> list[corpus.Attack]:
    """A fourth of the attacks, of each layer; or the rest."""
    turn = BUILDERS.index(provider)
    ordered = sorted(ATTACKS, key=lambda attack: attack.layer)
    return [attack for index, attack in enumerate(ordered) if (index % len(BUILDERS) == turn) is (share == "share")]


@pytest.fixture(scope="module", params=SHARES)
def outcomes(request: pytest.FixtureRequest, controls: dict[str, Control]) -> Iterator[dict[tuple[str, bool], Verdict]]:
    provider, share = request.param
    yield from tried_in(provider, attacks_of(provider, share), controls)


def tried_in(
    provider: str, chosen: list[corpus.Attack], controls: dict[str, Control]
) -> Iterator[dict[tuple[str, bool], Verdict]]:
    """The attacks on the kernel's walls without the language layer, and those on the language layer with it."""
    policy = judge.policy("strict")
    patience = pytest.MonkeyPatch()
    cloud = Cloud(provider)
    patience.setattr(_cloud, "CloudLease", Enduring)
    shared = SharedSandboxes(lambda: None)
    environment = cloud.environment(max_live=50)
    environment.share(shared.reserve(below=0), {})

    def session(screen: bool) -> Unscreened:
        return Unscreened(environment.session(policy, screen=screen))

    found: dict[tuple[str, bool], Verdict] = {}
    try:
        # As many as a judge uses beside each other: one that starts amid a verdict takes longer than those before it.
        for made in [session(True) for _ in range(1 + Habits().beside if EVERYTHING else 0)]:
            made.close()
        for screen in (False, True):
            other = Layer.KERNEL if screen else Layer.LANGUAGE
            attacks = [attack for attack in chosen if attack.layer is not other]
            tried = battery.attempts(
                attacks, lambda: session(screen), policy, controls, afterwards=EVERYTHING, layered=screen
            )
            found |= {(name, screen): outcome for name, outcome in tried.items()}
        yield found
    finally:
        patience.undo()
        shared.close()
        left = cloud.emulator.live
        cloud.emulator.close()
        assert left == []


@pytest.mark.parametrize("screen", [False, True], ids=["kernel", "language"])
def test_no_attack_gets_through(outcomes: dict[tuple[str, bool], Verdict], screen: bool) -> None:
    excuses = {attack.name: attack.excuse for attack in ATTACKS}
    lost = [
        f"{name}: {outcome.result}: {outcome.evidence}"
        for (name, screened), outcome in outcomes.items()
        if screened == screen
        and outcome.result not in (Result.STOPPED, Result.CONTAINED)
        and not (outcome.result is Result.NOT_CHECKED and excuses[name] is not Excuse.NOTHING)
    ]
    assert not lost, "\n".join(lost)


def test_walls_are_named_for_nearly_every_raw_attack(outcomes: dict[tuple[str, bool], Verdict]) -> None:
    kernel = {attack.name for attack in ATTACKS if attack.layer is Layer.KERNEL}
    raw = [outcome for (name, screened), outcome in outcomes.items() if name in kernel and not screened]
    raw = [outcome for outcome in raw if outcome.result is not Result.NOT_CHECKED]
    stopped = [outcome for outcome in raw if outcome.result is Result.STOPPED]
    assert len(raw) > 25 and len(stopped) > 0.8 * len(raw)
    assert all(outcome.wall is not None for outcome in stopped)


def test_all_attacks_run_in_some_cloud_each_time_and_in_every_cloud_when_asked() -> None:
    shares = [attacks_of(provider, "share") for provider in BUILDERS]
    assert sorted(attack.name for share in shares for attack in share) == sorted(attack.name for attack in ATTACKS)
    for provider in BUILDERS:
        assert len(attacks_of(provider, "share")) + len(attacks_of(provider, "rest")) == len(ATTACKS)
