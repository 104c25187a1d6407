"""What an attack's word is worth, what is no attempt at all, and when a session is late."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest

from rlm_secure.errors import (
    CellException,
    CellRefused,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
)
from rlm_secure.guarantees import Wall
from rlm_secure.testing import judge, yardstick
from rlm_secure.testing.corpus import Win
from rlm_secure.testing.session import FOREIGN, HostDied, HostLate, SessionFailed
from rlm_secure.testing.verdict import Claim, Reach, Result, claims
from rlm_secure.types import REPLResult
from tests.attacks.puppets import POLICY, Puppet, raises, says

# -- claims -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["WON it\n", "abc\nWON it", "no newline before: WON it\nmore", "\tWON it", "\x1b[32mWON it\x1b[0m"])
def test_a_claim_is_the_word_to_the_end_of_its_line(said):
    assert claims(2, said) == [Claim(2, "WON it")]


@pytest.mark.parametrize(
    "said", ["abcWON it", "SWONK", "WONDER", "won it", '    print("WON it")', "'WON'", r"a\nWON it", ""]
)
def test_no_claim(said):
    """Parts of words, and source that a traceback shows."""
    assert claims(1, said) == []


def test_a_long_claim_is_cut():
    assert len(claims(1, "WON" + " x" * 1000)[0].text) == 203


def test_a_claim_in_the_second_cell_counts_whatever_the_first_printed_last(tried):
    """Outputs that were glued together hid a checkpoint that leaves a process: "...doneWON" is no word."""
    verdict = tried(says("done"), says("WON a process"), wins=Win.PRINTS)
    assert (verdict.result, verdict.reach, verdict.evidence) == (Result.WON, Reach.SURFACE, "cell 2 said WON a process")


@pytest.mark.parametrize("said", [says("", "WON x"), says(locals={"a": "WON x"}), says(error=CellException("WON x")), says(final_answer="WON x")])  # fmt: skip
def test_only_what_was_printed_is_a_claim(tried, said):
    assert tried(said, wins=Win.PRINTS).held


@pytest.mark.parametrize("wins", list(Win))
@pytest.mark.parametrize("layered", [True, False])
def test_whose_word_counts(tried, wins, layered):
    verdict = tried(says("WON x"), wins=wins, layered=layered)
    counts = wins is Win.PRINTS or (wins is Win.REFLECTS and layered)
    assert verdict.result is (Result.WON if counts else Result.CONTAINED)
    assert verdict.reach is (Reach.SURFACE if counts else None)


def test_what_is_said_can_be_written_down(tried):
    assert tried(says("WON \ud800\x00é"), wins=Win.PRINTS).evidence == "cell 1 said WON \\ud800\x00é"


# -- defeats, and what says nothing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "result", "wall"),
    [
        (says(""), Result.CONTAINED, None),
        (says(error=CellRefused("no", rule="import")), Result.STOPPED, Wall.LANGUAGE),
        (says(error=CellException("NameError: x")), Result.CONTAINED, None),
        (raises(ProtocolViolation("a frame too long")), Result.STOPPED, Wall.SEPARATE_PROCESS),
        (raises(SessionEnded("closed")), Result.CONTAINED, None),
    ],
)
def test_defeats(tried, act, result, wall):
    verdict = tried(act)
    assert (verdict.result, verdict.wall, verdict.reach, verdict.held) == (result, wall, None, True)


@pytest.mark.parametrize("error", [SessionFailed("no"), HostDied("no"), HostLate("no")])
@pytest.mark.parametrize("when", ["open", "prelude", "cell"])
def test_a_session_that_fails_by_itself_neither_held_nor_lost(tried, error, when):
    fails = raises(error)
    kind = {"open": fails, "prelude": type("Deaf", (Puppet,), {"run": fails}), "cell": Puppet}[when]
    verdict = tried(fails, kind=kind, environment=FOREIGN, wins=Win.PRINTS)
    died = isinstance(error, HostDied) and when == "cell"  # there the attack is what killed it
    assert verdict.result is (Result.WON if died else Result.ERRORED)
    assert not verdict.held


def test_a_prelude_that_raises_is_no_attempt(tried):
    deaf = type("Deaf", (Puppet,), {"run": says(error=CellException("TARGET is too long"))})
    verdict = tried(says("WON"), kind=deaf, wins=Win.PRINTS)
    assert (verdict.result, verdict.evidence) == (Result.ERRORED, "it could not be told its target: TARGET is too long")


@pytest.mark.parametrize("times", [1, 2, 3])
def test_who_has_no_time_for_its_target_is_told_it_again_and_attacks_once(tried, times):
    class Late(Puppet):
        late = times

        def run(self, code: str, timeout: float | None = None) -> REPLResult:
            if code.startswith("TARGET = ") and self.late:
                self.late -= 1
                return REPLResult("", "", {}, error=CellTimeout("late", limit="limits.cell_seconds", wall="wall-clock"))
            return super().run(code, timeout)

    verdict = tried(says("WON x"), kind=Late, wins=Win.PRINTS)
    assert verdict.result is (Result.WON if times < 3 else Result.ERRORED)
    assert len(tried.opened[0].ran) == (times < 3)


def test_an_environment_that_is_not_there_is_told_to_who_asked(tried):
    with pytest.raises(EnvironmentUnavailable):
        tried(kind=raises(EnvironmentUnavailable("no")))


@pytest.mark.parametrize("wins", list(Win))
def test_somebody_elses_session_loses_by_being_late_only_where_time_is_attacked(tried, wins):
    verdict = tried(raises(HostLate("no answer")), wins=wins, environment=FOREIGN)
    assert verdict.result is (Result.WON if wins in (Win.OUTLASTS, Win.BREAKS) else Result.ERRORED)


@pytest.mark.parametrize("error", [SessionFailed("broken"), HostLate("no answer")])
def test_a_failure_hides_no_win_that_was_seen_before_it(tried, target, error):
    reached = tried(lambda known: Path(known["inbox"], "new").touch(), raises(error), environment=FOREIGN)
    assert (reached.reach, reached.evidence) == (Reach.REACHED, f"{target.directory}/inbox/new was changed")
    claimed = tried(says("WON x"), raises(error), environment=FOREIGN, wins=Win.PRINTS)
    assert (claimed.reach, claimed.evidence) == (Reach.SURFACE, "cell 1 said WON x")


def test_what_no_control_checked_is_not_passed_and_still_can_be_won(tried):
    lost = tried(says(""), checked=False)
    assert lost.result is Result.NOT_CHECKED and not lost.held
    assert tried(says("WON x"), wins=Win.PRINTS, checked=False).result is Result.WON


@pytest.mark.parametrize(("said", "sessions"), [("WON x", 1), ("", 2)])
def test_nothing_is_tried_twice(tried, said, sessions):
    """The second session of one that held only shows that sessions still start."""
    tried(says(said), says(""), wins=Win.PRINTS)
    assert [len(session.ran) for session in tried.opened] == [2, 0][:sessions]


# -- lateness ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speed", "seconds", "late"),
    [(1.0, 0.1, False), (1.0, 0.8, True), (0.2, 0.8, False), (0.0, 0.8, False), (0.0, 4.0, True)],
)
def test_lateness_is_measured_by_what_the_machine_gives(tried, monkeypatch, speed, seconds, late):
    """A machine that gives a fifth of its time is waited for; one that seems to give none, MOST times as long."""
    clock = type("Clock", (), {"given": lambda self: time.monotonic() * speed})()
    monkeypatch.setattr(yardstick, "shared", lambda: clock)
    monkeypatch.setattr(judge, "_SLACK_SECONDS", 0.2)
    limits = POLICY.limits.model_copy(update={"cell_seconds": 0.1, "grace_seconds": 0.1})
    done = threading.Event()
    try:
        verdict = tried(lambda known: done.wait(seconds) and None, policy=POLICY.model_copy(update={"limits": limits}))
    finally:
        done.set()
    assert verdict.held is not late
    assert ("the host had no answer after" in verdict.evidence) is late
    with contextlib.suppress(AttributeError):
        assert verdict.seconds < 0.4 * yardstick.MOST + 1
