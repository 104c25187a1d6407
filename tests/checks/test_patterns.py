"""The matcher of regular expressions, beside `re`: the same matches, in linear time."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rlm_secure.checks import OutOfSteps, Pattern, PatternRefused, Steps
from tests.effort import examples
from tests.growth.cost import MOST, assert_linear

ATOMS = st.sampled_from(
    [
        "a", "b", "A", "_", " ", r"\n", "\n", ".", r"\w", r"\W", r"\d", r"\s", r"\S", "[ab]", "[^a]", "[^\\n]", "[a-c_]", "^", "$",
        r"\A", r"\Z", r"\b", r"\B", "é", "ß", "(?i:aß)", "(?a:\\b)", "(?a:\\w)", "(?s:.)", "(?m:^)", "(?m:$)", "(?-i:a)", "K", "",
    ]
)  # fmt: skip
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{0,2}?", "{1,3}"])).map(
            lambda each: f"(?:{each[0]}){each[1]}"
        ),
        inner.map(lambda each: f"({each})"),
    ),
    max_leaves=8,
)  # fmt: skip
FLAGS = st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?a)", "(?im)", "(?is)"])
TEXTS = st.text(st.sampled_from("abAKk_ \n1éß.\u212a"), max_size=9)


def compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern)


@settings(max_examples=examples(6000), deadline=None)
@given(FLAGS, PATTERNS, st.lists(TEXTS, min_size=1, max_size=4))
def test_it_finds_what_re_finds(flags: str, pattern: str, texts: list[str]) -> None:
    expected = compiled(flags + pattern)
    ours = Pattern(flags + pattern)
    for text in texts:
        assert ours.search(text, Steps()) == bool(expected.search(text)), text


@settings(max_examples=examples(6000), deadline=None)
@given(FLAGS, PATTERNS, st.lists(TEXTS, min_size=1, max_size=4))
def test_it_replaces_what_re_replaces(flags: str, pattern: str, texts: list[str]) -> None:
    expected = compiled(flags + pattern)
    ours = Pattern(flags + pattern)
    assume(not ours.repeats_nothing)
    for text in texts:
        assert ours.sub("<>", text, Steps()) == expected.sub("<>", text), text


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?=a)", r"(?!a)", r"(?<=a)b", r"(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", r"(a)?(?(1)b|c)", r"(?>a)", r"a*+", "(", "[",
        "a{20000}", "(?:a{200}){200}", "(" * 60 + ")" * 60, "(" * 100_000, "a{99999999999999999999}",
    ],
)  # fmt: skip
def test_what_cannot_be_matched_in_linear_time_is_refused_before_there_is_a_text(pattern: str) -> None:
    with pytest.raises(PatternRefused):
        Pattern(pattern)


#: Expressions that `re` takes long with, and the text that makes it.
SLOW = [
    (r"(a+)+$", lambda size: "a" * size + "!"),
    (r"(a|a)*$", lambda size: "a" * size + "!"),
    (r"(a|ab|b)*c", lambda size: "ab" * size),
    (r"^(\w+\s?)*$", lambda size: "a " * size + "!"),
    (r"\s+$", lambda size: " " * size + "x"),
    (r"a*a*a*a*b", lambda size: "a" * size),
    (r"x*y", lambda size: "x" * size),
    (r"[ab]*a[ab]{10}c", lambda size: "abbab" * size),
    (r"(?i)k+k+s", lambda size: "".join(chr(0x212A + each % 3) for each in range(size))),
    (r"(?:.a){3}$", lambda size: "".join(chr(0x100 + each % 5000) for each in range(size))),
]


@pytest.mark.parametrize(("pattern", "hostile"), SLOW, ids=[each[0] for each in SLOW])
def test_twice_the_text_takes_twice_the_time(pattern: str, hostile) -> None:
    # Each time anew: one that has seen all of a text goes through it faster than through a text that it cannot keep.
    assert_linear(hostile, lambda text: Pattern(pattern).search(text, Steps()), begin=1_500)

    def steps(size: int) -> int:
        count = Steps()
        Pattern(pattern).search(hostile(size), count)
        return count.taken

    assert steps(40_000) <= MOST * steps(20_000)


@pytest.mark.parametrize("pattern", [r"a*b|a", r"a+?b|a", r"(?:a|b)*c|ab?", r"ACME-[0-9]{8}", r"\b\w+@\w+\.com\b"])
def test_matches_are_replaced_in_a_bounded_number_of_steps(pattern: str) -> None:
    ours = Pattern(pattern)
    text = "ab" * 5_000 + "a" * 5_000
    try:
        replaced = ours.sub("", text, Steps(10 * len(text)))
    except OutOfSteps:
        return
    assert replaced == re.sub(pattern, "", text)


def test_the_states_that_are_kept_are_bounded() -> None:
    ours = Pattern(r"(?:[ab]*a[ab]{12}c|\w+)x")
    ours.search("".join(chr(0x100 + each) for each in range(60_000)), Steps())
    ours.search("abbabaabbbabab" * 20_000, Steps(100_000_000))
    assert ours._forward._held <= 300_000


def test_whoever_waits_for_it_may_end_it() -> None:
    class Over(Exception):
        pass

    def over() -> None:
        raise Over

    with pytest.raises(Over):
        Pattern("a+$").search("a" * 3_000_000 + "b", Steps(interrupt=over))
    with pytest.raises(OutOfSteps):
        Pattern("a+$").search("a" * 3_000_000 + "b", Steps(1_000))


@pytest.mark.parametrize("pattern", ["(){4000000000}", "(?:){4000000000}", "((){9999999}){9999999}", "(?:){3,}"])
def test_nothing_is_repeated_once_however_often(pattern: str) -> None:
    assert Pattern(pattern).search("a", Steps())


def test_a_set_that_is_repeated_is_compiled_once() -> None:
    pattern = Pattern("(?i)[a-z\u00c0-\uffff]{1,2000}")
    code = pattern._forward._code + pattern._backward._code
    assert len({id(each) for _, _, each in code if isinstance(each, re.Pattern)}) == 1


def test_what_texts_led_to_is_forgotten_in_time() -> None:
    pattern = Pattern("^[^x]*$")
    assert pattern.search("".join(map(chr, range(0x10000, 0x40000))), Steps())
    assert pattern._forward._held <= 25_000
