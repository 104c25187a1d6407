"""A regression suite for a sandbox: what your cells may do stays possible, what they may not stays refused.

    cd examples/ci
    pytest                               everything: each attack of the corpus that is named below, for some minutes
    pytest -k "not attack"               your cells alone, in seconds
    pytest --rlm-secure-env docker       the same in another environment

The package brings the fixtures `secure_sandbox`, `rlm_policy` and `rlm_attack`; pytest.ini names the policy and a
folder of attacks of your own. Attacks run in an arena, a disposable process tree, and never on the machine itself.
workflow.yml runs all of it on GitHub: copy it to .github/workflows.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlm_secure import CellRefused, CellTimeout, Guarantee, Level, Policy, Sandbox
from rlm_secure.testing.verdict import Verdict

#: Cells as your model writes them, and what they must give.
CELLS = {
    "sum([19.5, 0.5])": 20.0,
    "import re\nre.findall('[0-9]+', 'invoice 17 of 2026')": ["17", "2026"],
    "import csv\n[row['sum'] for row in csv.DictReader(['number,sum', '1,9.50'])]": ["9.50"],
}


@pytest.mark.parametrize(("cell", "value"), CELLS.items())
def test_our_cells_run(secure_sandbox: Sandbox, cell: str, value: object) -> None:
    assert secure_sandbox.run(cell).check().value == value


@pytest.mark.parametrize("cell", ["import statistics", "import socket", "open('/etc/passwd')"])
def test_what_we_do_not_grant_is_refused(secure_sandbox: Sandbox, cell: str) -> None:
    assert isinstance(secure_sandbox.run(cell).error, CellRefused)


def test_an_endless_cell_is_stopped_and_the_session_goes_on(secure_sandbox: Sandbox) -> None:
    secure_sandbox.run("kept = 1")
    assert isinstance(secure_sandbox.run("while True: pass", timeout=0.3).error, CellTimeout)
    assert secure_sandbox.get("kept") == 1


@pytest.mark.parametrize("guarantee", [Guarantee.NO_NETWORK, Guarantee.NO_HOST_FILES, Guarantee.NO_SECRETS])
def test_the_guarantee_is_whole(secure_sandbox: Sandbox, guarantee: Guarantee) -> None:
    assert secure_sandbox.report.guarantee(guarantee) is Level.FULL


def test_nobody_raised_the_budget(rlm_policy: Policy) -> None:
    assert rlm_policy.lm.cost_usd <= 1.0


@pytest.mark.rlm_guarantee("no-network", "no-host-files", "no-secrets")
def test_the_attack_fails(rlm_attack: Callable[[], Verdict]) -> None:
    verdict = rlm_attack()
    if verdict.result == "not-checked":  # this machine cannot tell, for a reason that is said
        pytest.skip(verdict.evidence)
    assert verdict.held, verdict.evidence
