"""The simulation of capacity: where the answer is known, it gives that; and one node is what a real one is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.capacity import CALLS, Assumed, Measured, main, simulate

MEASURED = Measured(cpu_run=0.03, log_bytes=1e3, driver_message=1e-6, driver_lease=1e-6, session_bytes=1, node_bytes=1)
ASSUMED = Assumed(call_seconds=1.0, quota=1e9, link=1e12, processors=1, slots=10)


def test_one_processor_works_off_what_it_has_to() -> None:
    outcome = simulate(MEASURED, replace(ASSUMED, call_seconds=0.0), 1, 100)
    assert outcome.seconds == pytest.approx(100 * 0.03, rel=0.01)
    assert outcome.first == "processors"


def test_calls_wait_for_their_models_and_nothing_else() -> None:
    outcome = simulate(replace(MEASURED, cpu_run=1e-9), ASSUMED, 2, 40)  # two rounds on each of two nodes
    assert outcome.seconds == pytest.approx(2 * CALLS, rel=0.01)


@pytest.mark.parametrize(
    ("changed", "first"),
    [({"quota": 5.0}, "provider's quota"), ({"link": 1e3}, "logs"), ({"call_seconds": 0.0}, "processors")],
)
def test_what_ends_first_is_named(changed: dict[str, float], first: str) -> None:
    assert simulate(MEASURED, replace(ASSUMED, **changed), 4, 80).first == first
    assert simulate(replace(MEASURED, driver_message=0.1), ASSUMED, 4, 80).first == "driver"


def test_leases_are_asked_for_anew_as_the_allowance_gets_short() -> None:
    assert simulate(MEASURED, ASSUMED, 2, 40, allowance=10**6).leases == 2
    assert simulate(MEASURED, ASSUMED, 2, 40, allowance=CALLS * 40).leases > 8


@pytest.mark.root  # nobody else may ask for the memory of a sealed worker
def test_a_batch_of_one_node_takes_as_long_as_it_is_simulated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.capacity.NODES", (1, 10))
    assert 0.2 < main(runs=24, concurrency=4, call_seconds=0.3) < 2  # less where other programs have the processors
    assert "live sessions for each GB" in capsys.readouterr().out
