"""The attack corpus, and `make live`, in pods: containers of the local engine, which their arena is given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import live
from rlm_secure.testing.control import Control
from rlm_secure.testing.verdict import Verdict
from tests.clouds.conftest import Cloud
from tests.clouds.test_attacks import ATTACKS, test_no_attack_gets_through, tried_in  # noqa: F401 - collected here

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900), pytest.mark.slow]
#: One attack of so many runs each time (the others attack the same guest in every other cloud); the rest is in so many
#: shares, each of which takes less than the time of one test.
SAMPLE, SHARES = 30, 8


def share_of(number: int) -> int:
    """The share of an attack, by its number; 0 is the sample."""
    return 0 if number % SAMPLE == 0 else 1 + number % SHARES


@pytest.fixture(
    scope="module", params=[0, *(pytest.param(share, marks=pytest.mark.exhaustive) for share in range(1, SHARES + 1))]
)
def outcomes(request: pytest.FixtureRequest, controls: dict[str, Control]) -> Iterator[dict[tuple[str, bool], Verdict]]:
    ordered = sorted(ATTACKS, key=lambda attack: attack.layer)
    yield from tried_in("kubernetes", [each for number, each in enumerate(ordered) if share_of(number) == request.param], controls)


@pytest.mark.exhaustive
@pytest.mark.parametrize("cloud", ["kubernetes"], indirect=True)
def test_a_live_run_reports_every_step(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_ATTACKS", 1)
    report = live.run(cloud.name, cloud.options)
    assert {name: step for name, step in report["steps"].items() if not step["ok"]} == {}
    assert report["enforcement"]["environment"] == cloud.name
