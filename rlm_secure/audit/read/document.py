"""JSON documents as plain values, with the line and column of each part.

The standard library parses values without their places.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.untrusted_json import MalformedJson, loads

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*"')
_SCALAR = re.compile(r"[^\s,\]}]+")
#: Limit of the nesting of lists and mappings in a document of any format.
MAX_DEPTH = 64
_MAX_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its plain value, and the place of each key and element."""

    file: str
    value: Any
    places: Mapping[KeyPath, tuple[int, int]]

    def at(self, *path: str | int) -> Location:
        """The place of `path`, or of its nearest parent."""
        for length in range(len(path), -1, -1):
            if place := self.places.get(path[:length]):
                return Location(self.file, *place)
        return Location(self.file)


def read_json(text: str, file: str) -> Document:
    """Parse a JSON document. Raises Unreadable with the place of the error."""
    try:
        value = loads(text, depth=MAX_DEPTH, nodes=_MAX_NODES)
    except MalformedJson as refused:
        if refused.at is None:
            raise Unreadable(f"this JSON is refused: {refused}") from None
        line, column = text.count("\n", 0, refused.at) + 1, refused.at - text.rfind("\n", 0, refused.at)
        raise Unreadable(f"this is {refused}", line, column) from None
    scanner = _Json(text)
    scanner.value((), 0)
    return Document(file, value, scanner.places)


def read_json_lines(text: str, file: str) -> Document:
    """Parse JSON values, one per line, into a list. Raises Unreadable with the place of the error."""
    values: list[Any] = []
    places: dict[KeyPath, tuple[int, int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = read_json(line, file)
        except Unreadable as refused:
            raise Unreadable(str(refused), number, refused.column) from None
        for path, (_, column) in found.places.items():
            places[(len(values), *path)] = (number, column)
        values.append(found.value)
        if len(places) > _MAX_NODES:
            raise Unreadable("this JSON is too large", number)
    return Document(file, values, places)


class _Json:
    """Records the places in a text that the JSON parser has accepted."""

    def __init__(self, text: str) -> None:
        self.places: dict[KeyPath, tuple[int, int]] = {}
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def value(self, path: KeyPath, at: int) -> int:
        """Record the value that starts at or after `at`; return where it ends."""
        if len(path) > MAX_DEPTH or len(self.places) > _MAX_NODES:
            raise Unreadable("this JSON is nested too deeply, or too large")
        at = self._skip(at)
        self._note(path, at)
        match self._text[at]:
            case "{":
                return self._members(path, at + 1)
            case "[":
                return self._elements(path, at + 1)
            case '"':
                return self._end(_STRING, at)
            case _:
                return self._end(_SCALAR, at)

    def _members(self, path: KeyPath, at: int) -> int:
        at = self._skip(at)
        while self._text[at] != "}":
            if self._text[at] == ",":
                at = self._skip(at + 1)
            end = self._end(_STRING, at)
            inner = (*path, str(loads(self._text[at:end])))
            start = at
            at = self.value(inner, self._skip(end) + 1)  # after the colon
            self._note(inner, start)  # the place of a member is that of its key
            at = self._skip(at)
        return at + 1

    def _elements(self, path: KeyPath, at: int) -> int:
        at = self._skip(at)
        index = 0
        while self._text[at] != "]":
            if self._text[at] == ",":
                at += 1
            at = self._skip(self.value((*path, index), at))
            index += 1
        return at + 1

    def _skip(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return match.end() if match else at

    def _end(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self._text, at)
        if match is None:
            raise Unreadable("this JSON has a value that cannot be placed")
        return match.end()

    def _note(self, path: KeyPath, at: int) -> None:
        line = bisect.bisect_right(self._lines, at)
        self.places[path] = (line, at - self._lines[line - 1] + 1)
