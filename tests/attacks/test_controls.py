"""Every attack works where no wall stands: its defeat elsewhere is the wall's doing, not a typing error."""

from __future__ import annotations

import pytest

from rlm_secure.testing import corpus
from rlm_secure.testing.control import control
from rlm_secure.testing.target import Target
from tests.attacks.conftest import ATTACKS, each


@each(ATTACKS)
def test_the_attack_wins_in_plain_python(attack, controls):
    result = controls[attack.name]
    assert result.won or result.excused, f"{result.evidence} ({result.reason or 'no reason given'})"


def test_nearly_all_controls_win_here(controls):
    assert sum(result.won for result in controls.values()) > 0.8 * len(controls)


def harmless(wins: str) -> corpus.Attack:
    return corpus.parse(
        "harmless",
        f'"""Do nothing.\n\nguarantee: no-exec\nlayer: both\nwins: {wins}\noutcome: harmless\n"""\n\nx = 1\n',
    )


@pytest.mark.parametrize("wins", list(corpus.Win))
def test_a_harmless_program_wins_nothing(wins):
    with Target() as target:
        result = control(harmless(wins), target)
    assert not result.won
    assert not result.excused
