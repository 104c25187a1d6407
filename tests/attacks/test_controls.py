"""Every attack works where no wall stands: its defeat elsewhere is the wall's doing, not a typing error."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from rlm_secure.testing import control as plain_python
from rlm_secure.testing import corpus, processes
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


def test_what_starts_slowly_has_not_outlasted_its_limit(monkeypatch):
    timers = []

    def slow(*arguments, **options):
        process = processes.plain(*arguments, **options)
        os.kill(process.pid, signal.SIGSTOP)  # in the middle of the interpreter's start
        timers.append(threading.Timer(1.5, os.kill, (process.pid, signal.SIGCONT)))
        timers[-1].start()
        return process

    monkeypatch.setattr(plain_python, "plain", slow)
    with Target() as target:
        result = control(harmless(corpus.Win.OUTLASTS), target)
    timers[0].join()
    assert not result.won, result.evidence
