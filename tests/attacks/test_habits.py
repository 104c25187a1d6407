"""What sandboxes of somebody else's do by habit is no win of an attack, and no habit hides a win."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import battery, judge
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Attack, Excuse, Harm, Layer, Win
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.target import Bounds
from rlm_secure.testing.verdict import Reach, Result
from rlm_secure.testing.watch import still_computes, watch
from tests.attacks.conftest import ATTACKS
from tests.attacks.puppets import POLICY, Weighed

CORPUS = {attack.name: attack for attack in ATTACKS}
#: After it, three sessions are started beside the one that was attacked; and after the others, one.
SHARED = "dumpable-again"
KINDS = "tests.attacks.kinds"
ROOT = Path(__file__).parents[2]
PROCESS = "process-that-outlives-its-session"


def on(kind):
    return contextlib.closing(ForeignGround(f"{KINDS}:{kind}", judge.bounds_of(POLICY)))


def verdicts(kind, *attacks):
    attacks = [CORPUS[each] if isinstance(each, str) else each for each in attacks]
    won = {attack.name: Control(attack.name, True, "", Excuse.NOTHING, "") for attack in attacks}
    with on(kind) as ground:
        found = battery.attempts(attacks, ground, POLICY, won)
    return [found[attack.name] for attack in attacks]


def an_attack(cell, guarantee=Guarantee.NO_HOST_FILES, wins=Win.WRITES):
    return Attack("any", "Any.", guarantee, Layer.BOTH, wins, Harm.HARMLESS, (cell,))


# -- honest sandboxes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "attack"),
    [
        *((kind, SHARED) for kind in ("Banner", "Boxed", "Coloured", "Object", "Single", "SingleRun")),
        ("ForkServer", "list-that-grows"),
        ("Daemon", PROCESS),
        ("Chatty", "print-by-a-long-separator"),
        ("Far", "loop-for-ever"),
        pytest.param("Covers", "open-of-a-host-file", marks=pytest.mark.root),
    ],
)
def test_no_attack_wins_by_the_habits_of_an_honest_sandbox(kind, attack):
    (verdict,) = verdicts(kind, attack)
    assert verdict.result is Result.CONTAINED, verdict.evidence


def test_the_first_session_may_be_faster_than_all_others(monkeypatch):
    monkeypatch.setattr(judge, "_SLACK_SECONDS", 0.1)
    (verdict,) = verdicts("Warm", SHARED)
    assert verdict.result is Result.CONTAINED, verdict.evidence


# -- sandboxes with a hole --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "attack", "evidence"),
    [
        ("Abandons", "loop-for-ever", "it goes on computing after the session said that it had ended"),
        ("OwnTemp", "temporary-file-by-the-library", "/tmp/session-"),
        ("Narrow", "open-of-a-host-file", "the file secret came out"),
        ("Painted", "open-of-a-host-file", "the file secret came out"),
        ("Generous", "print-by-a-long-separator", "characters arrived, of 262144 allowed"),
    ],
)
def test_a_win_is_seen_through_the_habits_of_a_sandbox(kind, attack, evidence):
    (verdict,) = verdicts(kind, attack)
    assert (verdict.result, verdict.reach) == (Result.WON, Reach.REACHED), verdict.evidence
    assert evidence in verdict.evidence


def test_a_process_without_variables_remains():
    attack = CORPUS[PROCESS]
    lasting = replace(attack, cells=tuple(cell.replace("sleep(4)", "sleep(30)") for cell in attack.cells))
    (verdict,) = verdicts("Bare", lasting)
    assert (verdict.result, verdict.evidence) == (Result.WON, "1 processes remains")


def test_a_list_of_forbidden_modules_leaves_plain_python(target):
    with on("NoSys") as ground:
        found = ground.abilities(target)
    assert found.plain and not found.has
    assert found.lacks(CORPUS["file-in-tmp"]) == ""


@pytest.mark.parametrize("text", ["\n".join, "\x1b[36m".join, "\r\n \x1b[0;1m".join])
def test_a_secret_is_found_whatever_breaks_its_line(target, text):
    for place, secret in target.secrets.items():
        assert target.leaked(f"said: {text(secret)}\n") == [place]
        assert target.leaked(text(secret[:-1])) == []


_LATE = """
import os, threading, time
victim = TARGET["victim"]
def late(write=open):
    time.sleep(0.3)
    write(victim, "w").close()
"""
#: What writes to the victim when its cell has long ended. The last one has neither parent, variable nor descriptor.
_LATER = {
    "thread": "threading.Thread(target=late).start()",
    "child": "os.fork() or (late(), os._exit(0))",
    "orphan": "os.fork() or (os.closerange(0, 999), os.setsid(), os.fork() or late(), os._exit(0))",
}


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("examples.adapters.plain:Plain", "thread"),
        ("examples.adapters.plain:Plain", "child"),
        (f"{KINDS}:Bare", "orphan"),
    ],
)
def test_what_an_attack_does_late_is_its_own_or_is_not_done(target, kind, where):
    with contextlib.closing(ForeignGround(kind, judge.bounds_of(POLICY))) as ground:
        opener = ground.opener(target)
        first = judge.attempt(an_attack(_LATE + _LATER[where]), opener, target, POLICY)
        time.sleep(0.6)
        assert first.result is Result.WON or target.damage() == []
        second = judge.attempt(an_attack("x = 1"), opener, target, POLICY)
    target.reset()
    assert second.result is Result.CONTAINED, second.evidence


@pytest.mark.parametrize(("share", "goes_on"), [(1.0, True), (0.1, True), (0.01, False)])
def test_what_goes_on_computing_is_told_from_what_rests(share, goes_on):
    """On a busy machine a loop gets much less of a processor than what sleeps and wakes up does."""
    session = Weighed(())
    session.busy = share
    assert still_computes(session) is goes_on


def test_memory_that_one_session_held_hides_none_of_the_next(program):
    for mebibytes, most in (300, 450), (150, 290):  # a process that is just being made counts twice
        attack = an_attack(f"x = b'x' * ({mebibytes} << 20); del x", Guarantee.BOUNDED_MEMORY, Win.PRINTS)
        seen = watch(program(), attack, patience=10)
        assert seen.failure is None
        assert seen.held >> 20 in range(mebibytes - 10, most)


_GROWS = """
from rlm_secure.testing.target import Target
from tests.attacks.puppets import Trial
with Target() as target:
    tried = Trial(target)
    for mebibytes in (300, 250):
        print(tried(lambda known: len(b"x" * (mebibytes << 20)) and None).evidence)
"""


def test_memory_that_the_host_of_a_session_held_hides_none_of_the_next():
    """In a process of its own, whose peak is nobody else's."""
    done = subprocess.run([sys.executable, "-c", _GROWS], cwd=ROOT, capture_output=True, text=True, timeout=150)
    found = [int(each) for each in re.findall(r"the host grew by (\d+) MiB", done.stdout)]
    assert found == [pytest.approx(300, abs=10), pytest.approx(250, abs=10)], done.stdout + done.stderr


# -- what the target is made of ---------------------------------------------------------------------


def test_a_bystander_that_was_slowed_down_is_renewed(target):
    before = target.facts("", Bounds())["bystander"]
    target.reset()
    assert target.facts("", Bounds())["bystander"] == before
    os.setpriority(os.PRIO_PROCESS, before, 19)
    target.reset()
    after = target.facts("", Bounds())["bystander"]
    assert after != before and not psutil.pid_exists(before)
    assert psutil.Process(after).nice() == psutil.Process().nice()
    assert not target.signalled()


def test_no_process_of_a_target_has_a_number_of_a_sandboxs_own(target, program):
    known = target.facts("", Bounds(), program().host)
    assert min(known["bystander"], known["host"], os.getpid()) > 20_000
    assert not Path("/proc/2").exists()
