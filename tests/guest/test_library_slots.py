"""No library code hands out a slot: given its class as self, it would read the slot itself, and not what is in it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlm_secure.guest.language import facades
from rlm_secure.guest.language.registry import namespace_of

facades.preload()


def classes(kind: type, met: set[type]) -> Iterator[type]:
    if kind not in met:
        met.add(kind)
        yield kind
        for each in type.__subclasses__(kind):
            yield from classes(each, met)


def readers() -> Iterator[tuple[str, type, Callable[[Any], Any]]]:
    for kind in classes(object, set()):
        space = namespace_of(kind)
        if kind.__module__ not in facades.NAMES or vars(sys.modules[kind.__module__]).get(kind.__qualname__) is not kind:
            continue  # another one stands there, such as the one in C
        if not any(type(each) is types.MemberDescriptorType for each in space.values()):
            continue
        for name, stored in space.items():
            title = f"{kind.__module__}.{kind.__qualname__}.{name}"
            if name.startswith("_"):
                continue
            if isinstance(stored, property) and stored.fget:
                yield title, kind, stored.fget
            elif type(stored) is types.FunctionType:
                yield title, kind, stored


READERS = {title: (kind, read) for title, kind, read in readers()}


def test_those_that_matter_are_there() -> None:
    known = {"fractions.Fraction.as_integer_ratio", "fractions.Fraction.numerator", "statistics.NormalDist.mean"}
    assert known <= READERS.keys()


@pytest.mark.parametrize("title", sorted(READERS))
def test_no_slot_is_handed_out(title: str) -> None:
    kind, read = READERS[title]
    try:
        found = read(kind)
    except Exception:
        return
    for each in found if isinstance(found, tuple | list) else [found]:
        assert type(each) is not types.MemberDescriptorType
