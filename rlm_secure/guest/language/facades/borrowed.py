"""Replaces C code that calls a hook of an object to which it has no reference, by Python code, before any cell runs.

The hook can empty the container of its object and drop its own `self`, the last reference. The object is then freed, a
block of the cell's bytes is allocated in its place, and C continues with a forged object. Python code always has
references to the objects that it uses.

tests/guest/borrowed.py searches for more such code, by counting references in hooks.
"""

from __future__ import annotations

import collections
import contextlib
import csv
import gc
import json.encoder
from collections.abc import Callable, Iterable
from typing import Any

from . import iterators


def keep() -> None:
    """Replace it. Idempotent."""
    collections._count_elements = count_elements  # type: ignore[attr-defined]
    # Used by Counter.elements(): C's chain releases iterators while they run, and `items` may be a cell's method.
    collections._chain = iterators.chain  # type: ignore[attr-defined]
    csv.reader = iterators.reader
    contextlib._GeneratorContextManager.__exit__ = iterators.leave  # type: ignore[method-assign]
    json.encoder.c_make_encoder = make_encoder  # type: ignore[attr-defined]


def count_elements(mapping: Any, iterable: Iterable[Any]) -> None:
    """The counting function of Counter. The C version adds 1 to a count to which it has no reference."""
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1


# ---- json ------------------------------------------------------------------------------------------------------

_in_c: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined]
_in_python: Any = json.encoder._make_iterencode  # type: ignore[attr-defined]

_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def make_encoder(
    markers: dict[int, Any] | None,
    default: Callable[[Any], Any],
    encoder: Callable[[str], str],
    indent: str | None,
    key_separator: str,
    item_separator: str,
    sort_keys: bool,
    skipkeys: bool,
    allow_nan: bool,
) -> Callable[[Any, int], Iterable[str]]:
    """json's encoder: the C version for plain data, which has no hooks and needs no `default`, otherwise in Python."""
    separators, choices = (key_separator, item_separator), (bool(sort_keys), bool(skipkeys))
    finite = not allow_nan
    exact = indent is None or type(indent) is str
    in_c = _in_c(markers, default, encoder, indent, *separators, *choices, not finite)

    def number(value: float) -> str:
        text = float.__repr__(value)
        if text in _NOT_FINITE:
            if finite:
                raise ValueError(f"Out of range float values are not JSON compliant: {text}")
            return _NOT_FINITE[text]
        return text

    def chunks(value: Any, level: int) -> Iterable[str]:
        # A garbage collection between the check and the encoding could run the `finally` of a generator.
        collects = gc.isenabled()
        gc.disable()
        try:
            if exact and _is_plain(value):
                return tuple(in_c(value, level))
        finally:
            if collects:
                gc.enable()
        found: Iterable[str] = _in_python(
            markers, default, encoder, indent, number, *separators, *choices, True
        )(value, level)
        return found

    return chunks


def _is_plain(value: Any) -> bool:
    """Whether `value` and everything in it have exact JSON types. Runs no hook of any object."""
    seen: set[int] = set()
    waiting: list[Iterable[Any]] = [(value,)]
    for items in waiting:
        for each in items:
            kind = type(each)
            if kind is str or kind is int or kind is float or kind is bool or each is None:
                continue
            if kind is not dict and kind is not list and kind is not tuple:
                return False
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)  # of a dict, its keys
                if kind is dict:
                    waiting.append(each.values())
    return True
