"""`rlm-secure demo`: the answer is computed twice and every attack is judged; both can fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure import REPLResult
from rlm_secure.cli import demo, hostile
from rlm_secure.errors import CellCrashed, CellException, CellRefused
from rlm_secure.testing import unscreened
from tests.cli.conftest import Run


@pytest.mark.exhaustive  # .ci/run runs it three times, on each Python
def test_the_demo_ends_with_the_right_answer_and_every_attack_stopped(rlm_secure: Run) -> None:
    done = rlm_secure("demo", timeout=110)
    assert done.code == 0, done.out + done.err
    assert "the same" in done.out
    attempts = len(hostile.LANGUAGE + hostile.KERNEL + hostile.SINGLE + hostile.LIMITS)
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
    ("result", "denial"),
    [
        (REPLResult("WON", "", {}), hostile.BY_KERNEL),
        (REPLResult("WON", "", {}, error=CellException("OSError: [Errno 1] later")), hostile.BY_KERNEL),
        (REPLResult("", "", {}), hostile.BY_KERNEL),
        (REPLResult("", "", {}, error=CellCrashed("the worker died")), hostile.BY_KERNEL),
        (REPLResult("", "", {}, error=CellException("NameError: name 'HOST' is not defined")), hostile.BY_KERNEL),
        (REPLResult("", "", {}, error=CellException("NameError: name 'x' is not defined")), hostile.BY_LANGUAGE),
        (REPLResult("x", "", {}, error=CellException("MemoryError")), hostile.BY_LIMIT),
    ],
)
def test_silence_a_crash_and_a_broken_attempt_are_no_denial(result: REPLResult, denial: str) -> None:
    assert demo.judge(result, denial)[0] is False


@pytest.mark.parametrize(
    ("result", "denial"),
    [
        (REPLResult("", "", {}, error=CellException("PermissionError: [Errno 1] no")), hostile.BY_KERNEL),
        (REPLResult("", "", {}, error=CellRefused("dunder-attribute: no")), hostile.BY_LANGUAGE),
        (REPLResult("xxx", "", {}, dropped_bytes=9), hostile.BY_LIMIT),
    ],
)
def test_what_a_denial_looks_like(result: REPLResult, denial: str) -> None:
    assert demo.judge(result, denial)[0] is True


CONTROLLED = {attempt.aim: attempt for attempt in (*hostile.KERNEL, *(attempt for _, attempt in hostile.SINGLE))}


@pytest.mark.parametrize("attempt", CONTROLLED.values(), ids=CONTROLLED)
def test_each_kernel_attempt_works_without_walls(attempt: hostile.Attempt, tmp_path: Path) -> None:
    """The control: the same code in a plain process prints WON."""
    wrapper = []
    if attempt.aim == "mount a file system":  # where it does no harm, and where this user may
        wrapper = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    read_end, write_end = os.pipe()
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", attempt.against(os.getpid()).replace("/tmp/stolen", str(tmp_path / "stolen"))],
        capture_output=True,
        text=True,
        timeout=60,
        env={"HOME": "/", "PATH": "/usr/bin:/bin"},
        pass_fds=[read_end, write_end],
    )
    os.close(read_end)
    os.close(write_end)
    assert hostile.WON in done.stdout, done.stderr


def test_an_attack_that_gets_through_is_reported() -> None:
    with unscreened() as session:
        assert demo.judge(session.run(hostile.KERNEL[0].code), hostile.BY_KERNEL)[0]
        assert not demo.judge(session.run("print('WON')"), hostile.BY_KERNEL)[0]
