"""Untrusted text: what would act on a reader's terminal or eyes is spelled out, all else stays."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.inert import excerpt, inert, inert_for_model


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\a"),
        ("\x1b]8;;http://evil\x1b\\link", "\\x1b]8;;http://evil\\x1b\\link"),
        ("\x9b2J\x9d0;t\x9c", "\\x9b2J\\x9d0;t\\x9c"),
        ("safe\rEVIL", "safe\\rEVIL"),
        ("a\b\bb\x7f\x00", "a\\b\\bb\\x7f\\x00"),
        ("access\u202e\u2066level\u2069", "access\\u202e\\u2066level\\u2069"),
        ("a\u200bb\ufeff\u00ad", "a\\u200bb\\ufeff\\xad"),
        ("hid\U000e0041den", "hid\\U000e0041den"),
        ("one\u2028two\u2029", "one\\u2028two\\u2029"),
        ("lone \ud800", "lone \\ud800"),
        ("naïve 日本 שלום 👩\u200d🔬 नि\u200dन", "naïve 日本 שלום 👩\u200d🔬 नि\u200dन"),
    ],
)
def test_what_acts_is_spelled_out(text: str, shown: str) -> None:
    assert inert(text) == shown


def test_a_model_reads_every_script_as_it_is() -> None:
    text = "\u202bשלום\u202c a\u200bb\r\n\U000e0041"
    assert inert_for_model(text) == text
    assert inert_for_model("\x1b[2J\x00\ud800") == "\\x1b[2J\\x00\\ud800"


@given(st.text(alphabet=st.characters(codec=None)))
def test_what_is_left_moves_nothing(text: str) -> None:
    for character in inert(text).replace("\n", "").replace("\t", ""):
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    inert(text).encode()


@given(st.text(alphabet=st.characters(codec=None)))
def test_doing_it_twice_changes_nothing(text: str) -> None:
    assert inert(inert(text)) == inert(text)


@given(st.text(alphabet=st.characters(codec=None)), st.integers(4, 300))
def test_an_excerpt_is_one_short_line(text: str, limit: int) -> None:
    line = excerpt(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert line.isprintable() or not text.isprintable() or inert(text) == text


@pytest.mark.parametrize(("text", "line"), [("short", "short"), ("a\nb", "a\\nb"), ("x" * 30, "x" * 17 + "...")])
def test_excerpts(text: str, line: str) -> None:
    assert excerpt(text, 20) == line


def test_a_megabyte_takes_no_time() -> None:
    begin = time.process_time()
    inert("x" * 10_000_000)
    inert("\x1b" * 1_000_000)
    assert time.process_time() - begin < 5
