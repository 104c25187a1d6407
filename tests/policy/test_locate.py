"""Places of keys in a TOML text: exact, for every way to write a key."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.policy import load_policy
from rlm_secure.policy.locate import KeyPath, dotted, find, locate
from rlm_secure.policy.page import render, template
from tests.effort import examples
from tests.policy.strategies import FLAT, nested

TEXT = '''\
# a comment with [brackets] = "and quotes
name = "x"   # another
lm.depth = 2
lm . "calls" = 3

[limits]
  cells = 7
stdout_bytes = 1_000

[isolation]
local = [  # which
    "seccomp", 'landlock',
    # not this one
    "rlimits"
]
best_effort = [
    { wall = "landlock", reason = """two
lines, with "quotes" and ]""" },
    { wall = 'seccomp', reason = 'none' }
]

[[audit.ignore]]
rule = "first"
[[audit.ignore]]
rule = "second"
expires = 2030-01-31  # a date
'quoted key' = 1
[audit.ignore.sub]
deep = true
'''

PLACES: dict[KeyPath, tuple[int, int, int, int]] = {
    ("name",): (2, 1, 2, 8),
    ("lm",): (3, 1, 3, 1),
    ("lm", "depth"): (3, 1, 3, 12),
    ("lm", "calls"): (4, 1, 4, 16),
    ("limits",): (6, 1, 6, 1),
    ("limits", "cells"): (7, 3, 7, 11),
    ("limits", "stdout_bytes"): (8, 1, 8, 16),
    ("isolation",): (10, 1, 10, 1),
    ("isolation", "local"): (11, 1, 11, 9),
    ("isolation", "local", 0): (12, 5, 12, 5),
    ("isolation", "local", 1): (12, 16, 12, 16),
    ("isolation", "local", 2): (14, 5, 14, 5),
    ("isolation", "best_effort"): (16, 1, 16, 15),
    ("isolation", "best_effort", 0): (17, 5, 17, 5),
    ("isolation", "best_effort", 0, "wall"): (17, 7, 17, 14),
    ("isolation", "best_effort", 0, "reason"): (17, 26, 17, 35),
    ("isolation", "best_effort", 1): (19, 5, 19, 5),
    ("isolation", "best_effort", 1, "wall"): (19, 7, 19, 14),
    ("isolation", "best_effort", 1, "reason"): (19, 25, 19, 34),
    ("audit",): (22, 1, 22, 1),
    ("audit", "ignore"): (22, 1, 22, 1),
    ("audit", "ignore", 0): (22, 1, 22, 1),
    ("audit", "ignore", 0, "rule"): (23, 1, 23, 8),
    ("audit", "ignore", 1): (24, 1, 24, 1),
    ("audit", "ignore", 1, "rule"): (25, 1, 25, 8),
    ("audit", "ignore", 1, "expires"): (26, 1, 26, 11),
    ("audit", "ignore", 1, "quoted key"): (27, 1, 27, 16),
    ("audit", "ignore", 1, "sub"): (28, 1, 28, 1),
    ("audit", "ignore", 1, "sub", "deep"): (29, 1, 29, 8),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_place_is_exact(newline: str) -> None:
    text = TEXT.replace("\n", newline)
    found = locate(text)
    assert {
        path: (place.line, place.column, place.value_line, place.value_column) for path, place in found.items()
    } == PLACES


def test_the_nearest_place_stands_for_what_is_not_written() -> None:
    places = locate(TEXT)
    assert find(places, ("limits", "cells")) == places["limits", "cells"]
    assert find(places, ("limits", "memory_bytes")) == places["limits",]
    assert find(places, ("audit", "ignore", 0, "reason")) == places["audit", "ignore", 0]
    assert find(places, ("network", "ingress")) is None


def test_paths_are_written_as_people_write_them() -> None:
    assert dotted(("audit", "ignore", 0, "rule")) == "audit.ignore[0].rule"
    assert dotted(("a key", "b")) == '"a key".b'
    assert dotted(("\x1b[31m",)) == '"\\u001b[31m"'
    assert len(dotted(("x" * 5000,))) < 100


def paths(value: Any, path: KeyPath = ()) -> dict[KeyPath, Any]:
    """Every path in a document, with its value."""
    found: dict[KeyPath, Any] = {path: value} if path else {}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found |= paths(each, (*path, key))
    return found


@given(FLAT)
@settings(max_examples=examples(60), deadline=None)
def test_every_path_of_a_document_has_its_place(flat: dict[str, Any]) -> None:
    text = render(load_policy(nested(flat)))
    places, lines = locate(text), text.split("\n")
    expected = paths(tomllib.loads(text))
    assert set(places) == set(expected)
    for path, place in places.items():
        at_key = lines[place.line - 1][place.column - 1 :]
        at_value = lines[place.value_line - 1][place.value_column - 1 :]
        if isinstance(path[-1], str):
            assert at_key.lstrip("[").startswith(path[-1])
        match expected[path]:
            case bool() as value:
                assert at_value.startswith("true" if value else "false")
            case str():
                assert at_value.startswith('"')
            case list():
                assert at_value.startswith("[")
            case int() | float():
                assert at_value[0] in "0123456789"


def test_the_template_is_located_too() -> None:
    assert [dotted(path) for path in locate(template())] == [
        "language", "guardrails", "limits", "isolation", "network", "lm", "data", "audit",
    ]  # fmt: skip


@given(st.text("[]{}=.,\"'#\\\n\t ab1", max_size=60))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_survived_and_valid_ones_are_complete(text: str) -> None:
    places = locate(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(paths(document)) == set(places)
