"""Converts a tool's result to exact JSON types, within a size limit; iterators, which may never end, are refused."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import deque
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

#: Most levels of lists and dicts in a result: as many as a frame from a guest may have.
_DEPTH: Final = 64
#: Most bits of an integer in a result: somewhat below the 4,300 digits that Python converts from and to text.
_BITS: Final = 14_000

#: Classes that pydantic converts to a text or a number.
_LEAVES: Final = (date, time, timedelta, Decimal, UUID, PurePath)
_LISTS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, deque)


class NoJSON(Exception):
    """A tool's result cannot be represented in JSON, for the reason in the message."""


class TooLong(Exception):
    """A tool's result is larger than the limit. Its argument is the size reached, in bytes."""


def plain(value: Any, limit: int) -> Any:
    """Convert `value` to plain types, of at most about `limit` bytes.

    Raises NoJSON, TooLong, or what methods of the value raise.
    """
    return _Plain(limit).of(value, _DEPTH)


def class_name(value: object) -> str:
    """The name of a value's class, without running code of its metaclass."""
    return ascii(type.__dict__["__name__"].__get__(type(value))[:80])[1:-1]


class _Plain:
    """Counts the size of one value and tracks the open containers, to find cycles. `limit` is in bytes."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._limit = limit
        self._open: set[int] = set()

    def of(self, value: Any, depth: int) -> Any:
        """Convert `value` to plain types. Raises NoJSON, TooLong, or what methods of the value raise."""
        self._take(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, Enum):
            return self.of(value.value, depth)
        if issubclass(kind, str):
            self._take(str.__len__(value))
            return _encodable(str.__str__(value))
        if issubclass(kind, int):
            return _bounded(int.__int__(value))
        if issubclass(kind, float):
            return _finite(float.__float__(value))
        if issubclass(kind, _LEAVES):
            from pydantic_core import to_jsonable_python  # here: most sandboxes have no tools

            return self.of(to_jsonable_python(value), 0)
        if depth == 0:
            raise NoJSON(f"lists or dicts nested deeper than {_DEPTH}")
        if id(value) in self._open:
            raise NoJSON("a value that contains itself, which JSON cannot hold")
        self._open.add(id(value))
        try:
            return self._container(kind, value, depth - 1)
        finally:
            self._open.discard(id(value))

    def _container(self, kind: type, value: Any, depth: int) -> Any:
        if issubclass(kind, dict):
            plain: dict[str, Any] = {}
            for key, item in dict.items(value):
                name = self._key(key)
                if name in plain:
                    raise NoJSON("a dict with two keys of one name")
                plain[name] = self.of(item, depth)
            return plain
        for base in _LISTS:
            if issubclass(kind, base):
                return [self.of(item, depth) for item in base.__iter__(value)]
        from pydantic import BaseModel

        if issubclass(kind, BaseModel):
            return self._container(dict, value.model_dump(mode="python"), depth)
        if dataclasses.is_dataclass(kind):
            return {field.name: self.of(getattr(value, field.name), depth) for field in dataclasses.fields(kind)}
        raise NoJSON(f"a {class_name(value)}, which JSON cannot hold")

    def _key(self, key: Any) -> str:
        plain = self.of(key, 0)
        return plain if isinstance(plain, str) else json.dumps(plain)

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLong(self._limit - self._left)


def _bounded(number: int) -> int:
    if number.bit_length() > _BITS:
        raise NoJSON(f"an integer of {number.bit_length():,} bits; return it as text, or in parts")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise NoJSON(f"{number}, which JSON cannot hold; return None or text in its place")
    return number


def _encodable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise NoJSON("text with a lone surrogate, which is no character; encode what is no text") from None
    return text
