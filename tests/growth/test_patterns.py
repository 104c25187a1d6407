"""No regular expression of the package takes more than twice as long for twice the text, whoever wrote the text.

They are found in the source, and tried on texts that are made from each of them (patterns.py). An expression whose
text the source does not say, or that cannot be linear, needs a line in expressions.py.
"""

from __future__ import annotations

import re
import re._parser as parser
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.growth import cost
from tests.growth.expressions import BOUNDED, MADE
from tests.growth.patterns import Found, _parts, found, hostile, sources

#: Characters up to which no expression takes long, and seconds that it may take for so many: 200 ns for each.
_FIRST, _CHEAP = 2048, 0.0004
#: Seconds for the longest text that a bounded expression meets.
_BOUNDED_SECONDS = 0.1

EVERY = [each for path, source in sources() for each in found(path, source)]


def _runner(pattern: re.Pattern[Any], use: str) -> Callable[[Any], object]:
    if use in ("sub", "subn"):
        return lambda text: getattr(pattern, use)(lambda match: match[0][:0], text)
    if use == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    method: Callable[[Any], object] = getattr(pattern, use)
    return method


def _offences(each: Found) -> Iterator[str]:
    """Texts on which it takes too long."""
    pattern = each.compiled()
    bound = BOUNDED.get(each.place)
    for make in hostile(pattern.pattern, pattern.flags):
        for use in sorted(each.uses):
            run = _runner(pattern, use)
            try:
                if bound is not None:
                    took = cost.seconds(run, make(bound.characters))
                    took = cost.seconds(run, make(bound.characters), 3) if took > _BOUNDED_SECONDS else took
                    said = f"{took * 1000:.0f} ms at its bound" if took > _BOUNDED_SECONDS else ""
                else:
                    said = _grown(make, run)
            except cost.Endless as endless:
                said = str(endless)
            if said:
                yield f"{pattern.pattern!r}.{use} on {make.__doc__}: {said}"


def _grown(make: Callable[[int], Any], run: Callable[[Any], object]) -> str:
    """What is wrong with the growth, if anything: most are seen to be cheap at once, and need no second look."""
    for size in (16, 20, 25, 32, 256, _FIRST):  # in small steps: what is exponential is to be stopped early
        took = cost.seconds(run, make(size))
        if took > cost.TELLING:
            break
    if size == _FIRST and took <= _CHEAP:
        return ""
    growth = cost.growth(make, run, begin=min(size, _FIRST // 2), most=1 << 18)
    return str(growth) if growth.wrong else ""


@pytest.mark.parametrize("path", sorted({each.place.partition(":")[0] for each in EVERY}))
def test_no_expression_takes_longer_than_its_text_grows(path: str) -> None:
    for each in EVERY:
        if each.place.startswith(f"{path}:") and each.text is not None:
            offence = next(_offences(each), None)
            assert offence is None, (
                f"rlm_secure/{path}:{each.line}: {offence}. Write it so that no two of its parts take the same"
                " characters, or bound the text before it, and say so in BOUNDED of tests/growth/expressions.py"
            )


def test_every_expression_that_is_made_while_running_is_explained() -> None:
    for each in EVERY:
        assert each.text is not None or each.place in MADE, (
            f"rlm_secure/{each.place.partition(':')[0]}:{each.line} makes a regular expression of what it is given:"
            f" add {each.place!r} to MADE in tests/growth/expressions.py, with examples of it, or with the reason why"
            " foreign bytes never meet it"
        )
    for place, made in MADE.items():
        assert made.examples or len(made.reason) > 20, place
        for text in made.examples:
            assert next(_offences(Found(place, 0, text, uses=frozenset({"search"}))), None) is None


def test_no_line_is_left_of_an_expression_that_is_gone() -> None:
    places = {each.place for each in EVERY}
    assert not set(BOUNDED) - places
    assert not set(MADE) - {each.place for each in EVERY if each.text is None}


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (r"([a-z]+):[ \t]*([^\r\n\0]*)", "fullmatch"),  # a header: blanks that two parts take
        (r"\s*```(?:json)?[ \t]*\n(.*)\n\s*```\s*", "fullmatch"),
        (r"(?:a|a)+b", "match"),
        (r"(?:[a-z]+)+1", "match"),  # exponential
        (r"[a-z]+1", "search"),  # linear from each place, and there are as many places
        (r"(?m)^\s+x", "search"),
        (r"<[^>]*>", "sub"),
        (rb"(?:.*-)?x(?:-.*)?y", "fullmatch"),
    ],
)
def test_a_planted_expression_is_found(text: str | bytes, use: str, hasty: None) -> None:
    flags = re.DOTALL if b"```" in (text if isinstance(text, bytes) else text.encode()) else 0
    assert next(_offences(Found("planted", 0, text, flags, frozenset({use}))), None)


def test_every_way_to_write_a_use_is_listed() -> None:
    source = """
import re
import re as regular
from re import search as look
from typing import Final
_ONE = re.compile("one", re.DOTALL)
_TWO: Final = re.compile("two" "more")
_HANDED = re.compile("handed")
def use(text, given):
    look("three", text)
    regular.sub("four", "", text)
    re.match(given, text)
    re.fullmatch(rf"{given}", text)
    _ONE.match(text)
    scan(_HANDED, text)
def scan(pattern: re.Pattern[str], text):
    return pattern.findall(text)
class Kept:
    def __init__(self, own):
        self.looks = re.compile("five")
        self.own = [re.compile(each) for each in own]
"""
    listed = {(each.text, tuple(sorted(each.uses)), each.flags) for each in found("errors.py", source)}
    kept = ("fullmatch", "search")
    assert listed == {
        ("one", ("match",), int(re.DOTALL)), ("twomore", kept, 0), ("handed", ("findall",), 0),
        ("three", ("search",), 0), ("four", ("sub",), 0), (None, ("match",), 0), (None, ("fullmatch",), 0),
        ("five", kept, 0), (None, kept, 0),
    }  # fmt: skip
    assert "errors.py:Kept.__init__" in {each.place for each in found("errors.py", source)}


def _possessive(tree: Any) -> Iterator[Any]:
    """The bodies of all possessive repeats in a parsed expression."""
    for op, given in tree:
        if op is parser.POSSESSIVE_REPEAT:
            yield given[2]
        elif op is parser.ATOMIC_GROUP:
            yield given
        for part in _parts(op, given):
            yield from _possessive(part)


@pytest.mark.parametrize("path", sorted({each.place.partition(":")[0] for each in EVERY}))
def test_no_group_is_possessive(path: str) -> None:
    """Python before 3.11.5 goes on behind what such a group took before it failed (gh-106052): 1e of "1e". What takes
    one character cannot fail within it."""
    for each in EVERY:
        if each.place.partition(":")[0] == path and each.text is not None:
            bodies = _possessive(parser.parse(each.text, each.flags))
            wrong = [str(body) for body in bodies if body.getwidth() != (1, 1)]
            assert wrong == [], f"{each.place}: make the group of {each.text!r} an ordinary one"


def test_no_module_uses_another_engine() -> None:
    for path, source in sources():
        assert "import regex" not in source, f"rlm_secure/{path}: patterns.py lists what `re` is given, and no other"
    assert len(EVERY) > 80
