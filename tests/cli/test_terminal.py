"""What reaches a terminal is inert."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.cli import terminal


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\a"),
        ("\x9b31mred", "\\x9b31mred"),
        ("safe\roverwritten", "safe\\roverwritten"),
        ("ab\b\bcd", "ab\\b\\bcd"),
        ("\x00\x7f", "\\x00\\x7f"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("one\u2028two", "one\\u2028two"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_spelled_out(hostile: str, shown: str) -> None:
    assert terminal.inert(hostile) == shown


def test_plain_text_is_left_alone() -> None:
    text = "tab\tnewline\n\u00e9\u4e2d\U0001f600"
    assert terminal.inert(text) == text


def test_a_pipe_keeps_carriage_returns_but_never_an_escape() -> None:
    assert terminal.inert("a\r\nb\x00\x1b[31m", terminal=False) == "a\r\nb\x00\\x1b[31m"


@given(st.text(st.characters()))
def test_nothing_left_can_drive_a_terminal(text: str) -> None:
    shown = terminal.inert(text)
    assert not any((ord(char) < 32 and char not in "\t\n") or 0x7F <= ord(char) < 0xA0 for char in shown)
    shown.encode("utf-8")


def test_json_is_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.write_json({"text": "\x1b[31m\u202e\ud800\x9b"})
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out) == {"text": "\x1b[31m\u202e\ud800\x9b"}


def test_a_pipe_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(terminal.sys, "stderr", stream)
    terminal.say("\x1b[2Jfailed [bold]not markup[/bold]", style="red")
    assert stream.getvalue() == "\\x1b[2Jfailed [bold]not markup[/bold]\n"
