"""`rlm-secure demo`: the answer is computed twice and every attack is judged; both can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rlm_secure.cli import demo
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import corpus, judge, unscreened
from rlm_secure.testing.verdict import Result, Verdict
from tests.cli.conftest import Run


@pytest.mark.exhaustive  # .ci/run runs it three times, on each Python
def test_the_demo_ends_with_the_right_answer_and_every_attack_stopped(rlm_secure: Run) -> None:
    done = rlm_secure("demo", timeout=110)
    assert done.code == 0, done.out + done.err
    assert "the same" in done.out
    attempts = len(demo.LANGUAGE + demo.KERNEL + demo.BEHIND + demo.GREED)
    assert len(re.findall(r"^(?:stopped|contained) ", done.out, re.MULTILINE)) == attempts
    assert "removed-builtin: open() does not exist" in done.out and not re.search(r"(\S+): \1: ", done.out)


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


def test_what_is_shown_is_in_the_corpus() -> None:
    """Where each has its control: tests/attacks/test_controls.py."""
    attacks = {attack.name: attack for attack in corpus.load()}
    behind = [name for _, name in demo.BEHIND]
    assert [name for name in (*demo.LANGUAGE, *demo.KERNEL, *behind, *demo.GREED) if name not in attacks] == []
    assert {attacks[name].layer for name in (*demo.KERNEL, *behind)} == {corpus.Layer.KERNEL}


@pytest.mark.parametrize("result", Result)
def test_an_attack_that_gets_through_or_was_not_tried_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], result: Result
) -> None:
    seen = Verdict("builtin-open", Guarantee.NO_HOST_FILES, result, None, "the file secret came out", 0.1)
    monkeypatch.setattr(judge, "attempt", lambda *_, **__: seen)
    attacks = demo._Attacks(judge.policy("strict"), None)
    assert attacks.show("greed", [(unscreened, "builtin-open")]) is (result in (Result.STOPPED, Result.CONTAINED))
    assert re.search(rf"^{result} +builtin-open ", capsys.readouterr().out, re.MULTILINE)
