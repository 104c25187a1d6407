"""The corpus once more where numpy, pandas and matplotlib are loaded: in the worker's memory, and in the cells.

The walls of the kernel must hold as they do without the packages, whose C libraries and `ctypes` an attack finds in
memory. Attacks on the language layer must not win either, though its claim is partial here. For every push it is each
fourth attack; all of them with `--all`.
"""

from __future__ import annotations

import pytest

from rlm_secure import Sandbox
from rlm_secure.errors import CellTimeout
from rlm_secure.guarantees import Guarantee, Level, Wall
from rlm_secure.testing import corpus, unscreened
from rlm_secure.testing.verdict import Result, Verdict
from tests.attacks.conftest import ATTACKS, each, run, stands
from tests.share import share

IMPORTS = "import numpy, pandas, matplotlib.pyplot\n"
RAW = share([attack for attack in ATTACKS if attack.layer is corpus.Layer.KERNEL], 4)
CELLS = share(corpus.for_layer(ATTACKS, screened=True), 4)
#: What does not rest on the language wall.
KERNEL = frozenset(Guarantee) - {Guarantee.NO_REFLECTION, Guarantee.BOUNDED_SPEND}


class Loaded:
    """A session that has imported the packages before its first attack.

    That cell is no attack, and has the seconds of one: on a busy machine it may need another session.
    """

    def __init__(self, open_session, policy) -> None:
        for last in (False, False, True):
            self._session = open_session(policy=policy)
            loaded = self._session.run(IMPORTS)
            if last or not isinstance(loaded.error, CellTimeout):
                break
            self._session.close()
        loaded.check()

    def __getattr__(self, name: str):
        return getattr(self._session, name)


@pytest.fixture(scope="module")
def behind_the_kernel(controls) -> dict[str, Verdict]:
    """Every attack on the kernel's walls, in plain Python, in a worker that was forked from the zygote with the packages."""
    return run(RAW, lambda policy: Loaded(unscreened, policy), "data", controls, layered=False)


@pytest.fixture(scope="module")
def in_cells(controls) -> dict[str, Verdict]:
    """Every attack that needs no ctypes, in a session of the policy `data`."""
    return run(CELLS, lambda policy: Loaded(Sandbox, policy), "data", controls, layered=True)


@each(RAW)
def test_the_walls_of_the_kernel_hold_with_packages_in_memory(attack, behind_the_kernel):
    outcome = behind_the_kernel[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


@each(CELLS)
def test_no_attack_on_the_language_layer_gets_through_with_packages(attack, in_cells):
    outcome = in_cells[attack.name]
    assert stands(attack, outcome), f"{outcome.result}: {outcome.evidence}"


def test_walls_are_named_for_most_attacks(behind_the_kernel):
    outcomes = behind_the_kernel.values()
    assert sum(outcome.result is Result.STOPPED for outcome in outcomes) > 0.7 * len(outcomes)
    assert sum(outcome.wall is Wall.SECCOMP for outcome in outcomes) > 0.2 * len(outcomes)


def test_claims_on_the_kernel_are_full_and_the_one_on_reflection_is_partial():
    with Sandbox(policy="data") as data, Sandbox(policy="strict") as strict:
        levels = {guarantee: data.report.guarantee(guarantee) for guarantee in KERNEL}
        assert set(levels.values()) == {Level.FULL}, levels
        assert data.report.guarantee(Guarantee.NO_REFLECTION) is Level.PARTIAL
        assert strict.report.guarantee(Guarantee.NO_REFLECTION) is Level.FULL
        changed = {wall for wall in Wall if data.report[wall].level is not strict.report[wall].level}
        assert changed == {Wall.LANGUAGE}


def test_a_worker_with_packages_has_one_thread_and_the_filter_of_all():
    ask = "print(open('/proc/self/status').read())"  # refused: there are no files, with packages as without
    with unscreened(policy="data") as data, unscreened(policy="strict") as strict:
        assert "PermissionError" in data.run(ask).stderr
        evidence = {name: session.report[Wall.SECCOMP].evidence for name, session in (("data", data), ("strict", strict))}
    assert evidence["data"] == evidence["strict"]
