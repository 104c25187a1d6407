"""The difference of two policies, with what got weaker marked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from rlm_secure.policy import load_policy
from rlm_secure.policy.compare import Change, Effect, diff
from tests.effort import examples
from tests.policy.strategies import FLAT, nested


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({}, {"limits": {"cells": 5}}, Change("limits.cells", 1000, 5, Effect.STRONGER)),
        ({}, {"limits": {"cells": 5000}}, Change("limits.cells", 1000, 5000, Effect.WEAKER)),
        ({}, {"network": {"ingress": True}}, Change("network.ingress", False, True, Effect.WEAKER)),
        ({}, {"isolation": {"pool": 9}}, Change("isolation.pool", 2, 9, Effect.NEUTRAL)),
        (
            {"language": {"modules": ["re", "json"]}},
            {"language": {"modules": ["re", "csv"]}},
            Change("language.modules", ("re", "json"), ("re", "csv"), Effect.MIXED, ("csv",), ("json",)),
        ),
        (
            {"language": {"modules": ["re", "json"]}},
            {"language": {"modules": ["json", "re"]}},
            Change("language.modules", ("re", "json"), ("json", "re"), Effect.NEUTRAL),
        ),
        (
            {"data": {"redact": ["a"]}},
            {"data": {"redact": ["a", "b"]}},
            Change("data.redact", ("a",), ("a", "b"), Effect.STRONGER, ("b",)),
        ),
    ],
)  # fmt: skip
def test_a_change_says_what_it_does(before: dict[str, Any], after: dict[str, Any], change: Change) -> None:
    assert diff(load_policy(before), load_policy(after)) == (change,)


def test_names_and_texts_are_no_difference() -> None:
    assert diff(load_policy({"name": "a", "description": "x"}), load_policy({"name": "b"})) == ()


def test_an_ignore_is_a_neutral_change() -> None:
    ignore = {"rule": "weak-limit", "reason": "a good reason", "expires": "2030-01-31"}
    (change,) = diff(load_policy({}), load_policy({"audit": {"ignore": [ignore]}}))
    assert (change.key, change.effect, change.added) == ("audit.ignore", Effect.NEUTRAL, ("weak-limit",))


@given(a=FLAT, b=FLAT)
@settings(max_examples=examples(80), deadline=None)
def test_the_difference_is_empty_only_for_equals_and_turns_around(a: dict[str, Any], b: dict[str, Any]) -> None:
    one, other = load_policy(nested(a)), load_policy(nested(b))
    there, back = diff(one, other), diff(other, one)
    assert [change.key for change in there] == [change.key for change in back]
    assert diff(one, one) == ()
    for forth, reverse in zip(there, back, strict=True):
        assert (forth.added, forth.removed) == (reverse.removed, reverse.added)
