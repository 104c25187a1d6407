"""What judges from within an arena stands above what it judges there, and leaves nothing of it when it is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.arena import scene

pytestmark = [pytest.mark.attack, pytest.mark.timeout(300)]

#: Whoever runs this, and nobody.
WHO = [pytest.param(False, id="us"), pytest.param(True, id="nobody", marks=pytest.mark.root)]
THIEF = "tests.audit.weak:Thief"
NOTHING = "took nothing of the judge"
#: Who is not root is the same user below.
USERS = "took signals pace of the judge"

_ATTEMPT = """
import json, psutil
from rlm_secure.errors import RLMSecureError
from rlm_secure.policy import load_policy
from rlm_secure.testing import corpus
from rlm_secure.testing.arena.attempts import Attempts
attack = {each.name: each for each in corpus.load()}["builtin-open"]
with Attempts() as attempts:
    held = attempts.attempt(attack, "tests.audit.weak:Boasts", load_policy("strict")).held
    (judge,) = psutil.Process().children()
    try:
        attempts.attempt(attack, "tests.audit.weak:Thief", load_policy("strict"))
    except RLMSecureError as error:
        said = str(error)
print(json.dumps([held, judge.ppid() if judge.is_running() else None, said]))
"""
#: Closed while a host of the judge's runs a cell that does not end, beside a bystander.
_CLOSED = """
import json, os, time, psutil
from rlm_secure.policy import load_policy
from rlm_secure.testing import arena, corpus
from rlm_secure.testing.arena.attempts import _REQUEST, Request
before = set(psutil.pids())
reader, writer = os.pipe()
sleep, = [each for each in corpus.load() if each.name == "sleep"]
with arena.Arena().judge("rlm_secure.testing.arena.attempts", writer) as running:
    request = Request(sleep, "examples.adapters.plain:open_session", load_policy("strict").model_dump_json())
    running.process.stdin.write(_REQUEST.dump_json(request) + b"\\n")
    running.process.stdin.flush()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        started = [each for each in psutil.process_iter() if each.pid not in before]
        # The judge, its yardstick and its bystander, and the program of hosts with its host.
        if len(started) >= 5:
            break
        time.sleep(0.01)
    about = str(running.about) == str(arena.inside())
deadline = time.monotonic() + 20
while (left := set(psutil.pids()) - before) and time.monotonic() < deadline:
    time.sleep(0.02)
print(json.dumps([about, len(started), len(left)]))
"""


def within(*command: str, nobody: bool = False) -> subprocess.CompletedProcess[str]:
    """What a command in an arena said, which sees this checkout."""
    whole = scene.cli("--share", str(scene.ROOT), "--", *command, nobody=nobody)
    return subprocess.run(whole, cwd=scene.ROOT, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.parametrize("nobody", WHO)
def test_an_audit_from_within_an_arena_stands_above_its_adapter(nobody: bool) -> None:
    audit = ("-m", "rlm_secure", "audit", "--share", str(scene.ROOT), "--env", THIEF, "--quick")
    done = within(sys.executable if not nobody else "python", *audit, nobody=nobody)
    assert (USERS if nobody or os.getuid() else NOTHING) in done.stderr, done.stderr
    assert "attacked in an arena" in done.stdout, done.stdout


def test_attempts_from_within_an_arena_are_made_by_a_process_of_their_own() -> None:
    done = within(sys.executable, "-c", _ATTEMPT)
    held, parent, said = json.loads(done.stdout.splitlines()[-1])
    assert (held, parent) == (True, None), done.stderr
    assert said.endswith(USERS if os.getuid() else NOTHING)


def test_a_judge_in_an_arena_that_is_closed_leaves_nothing() -> None:
    done = within(sys.executable, "-c", _CLOSED)
    about, started, left = json.loads(done.stdout.splitlines()[-1])
    assert about
    assert started >= 5
    assert left == 0


@pytest.mark.parametrize("nobody", WHO)
def test_no_process_of_an_arena_has_a_number_of_a_sandboxs_own(nobody: bool) -> None:
    """They count from 1, in a PID namespace of theirs: what is said of a number there says nothing of a process here."""
    done = within("sh", "-c", "echo $$", nobody=nobody)
    assert int(done.stdout) > 20_000
