"""`rlm-secure demo`: the answer is computed twice and every attack is judged; both can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rlm_secure import REPLResult, Sandbox
from rlm_secure.cli import demo, hostile
from rlm_secure.errors import CellException
from rlm_secure.testing import unscreened
from tests.cli.conftest import Run


def test_the_demo_ends_with_the_right_answer_and_every_attack_stopped(rlm_secure: Run) -> None:
    done = rlm_secure("demo", timeout=110)
    assert done.code == 0, done.out + done.err
    assert "the same" in done.out
    attempts = len(hostile.LANGUAGE + hostile.KERNEL + hostile.LIMITS)
    assert len(re.findall(r"^stopped ", done.out, re.MULTILINE)) == attempts
    assert hostile.WON not in done.out


def test_the_reader_and_plain_python_count_the_same() -> None:
    text = "raise ValueError\n  raise KeyError(1)\n\traise  os.error from x\nraised = 1\nraise\nraise ValueError('x')\n#raise E"
    assert demo.reader(demo.ASK + text) == '{"ValueError": 2, "KeyError": 1, "os.error": 1}'
    assert demo.plain_answer([text]) == "ValueError, on 2 lines"


def test_a_wrong_answer_fails_the_demo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("raise ValueError\n" * 3)
    monkeypatch.setattr(demo.sysconfig, "get_path", lambda name: str(tmp_path))
    assert demo.answer_a_question()
    monkeypatch.setattr(demo, "plain_answer", lambda texts: "KeyError, on 1 lines")
    assert not demo.answer_a_question()
    assert "DIFFERENT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("result", "stopped"),
    [
        (REPLResult("WON", "", {}), False),
        (REPLResult("WON", "", {}, error=CellException("later")), False),
        (REPLResult("", "", {}), False),
        (REPLResult("", "", {}, error=CellException("PermissionError: no")), True),
        (REPLResult("xxx", "", {}, dropped_bytes=9), True),
    ],
)
def test_silence_is_not_a_denial(result: REPLResult, stopped: bool) -> None:
    assert demo.judge(result)[0] is stopped


@pytest.mark.parametrize(
    "attempt",
    [each for each in hostile.KERNEL if each.aim not in {"become another program"}],
    ids=lambda attempt: attempt.aim,
)
def test_each_kernel_attempt_works_without_walls(attempt: hostile.Attempt, tmp_path: Path) -> None:
    """The control: the same code in a plain process prints WON."""
    import os
    import subprocess
    import sys

    if attempt.aim == "mount a file system" and os.geteuid() != 0:
        # Needs a capability that this user never had; a user namespace gives it.
        wrapper = ["unshare", "--user", "--map-root-user", "--mount"]
    else:
        wrapper = ["unshare", "--mount"] if attempt.aim == "mount a file system" else []
    code = attempt.code.replace("/tmp/stolen", str(tmp_path / "stolen"))
    read_end, write_end = os.pipe()
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={"HOME": "/", "PATH": "/usr/bin:/bin"},
        pass_fds=[read_end, write_end],
    )
    os.close(read_end)
    os.close(write_end)
    assert hostile.WON in done.stdout, done.stderr


def test_hostile_sessions_are_judged_stopped_in_process() -> None:
    with Sandbox() as sandbox:
        assert demo.judge(sandbox.run(hostile.LANGUAGE[0].code))[0]
    with unscreened() as session:
        assert demo.judge(session.run(hostile.KERNEL[0].code))[0]
        assert not demo.judge(session.run("print('WON')"))[0]
