"""Every attack works where no wall stands: its defeat elsewhere is the wall's doing, not a typing error."""

from __future__ import annotations

import os
import signal
import threading
import time

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


def test_a_won_control_is_not_watched_while_it_shows_what_it_made():
    source = """\"\"\"Win, and leave something that takes for ever to be shown.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
\"\"\"

class Endless:
    def __repr__(self):
        while True:
            pass

print("WON", 1)
left = Endless()
"""
    started = time.monotonic()
    with Target() as target:
        result = control(corpus.parse("endless", source), target)
    assert result.won and result.evidence == "WON 1"
    assert time.monotonic() - started < 15  # it is given 30
