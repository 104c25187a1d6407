"""Finds the positions of keys in a TOML text: messages and findings need them, and tomllib gives only values.

The scanner assumes that tomllib has accepted the text: it parses only as much as positions need, and on anything
else it stops, with the places found so far.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

#: A place in the tree of a document: table and key names, and indexes of arrays.
KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*[ \t\r\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'{3,5}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")


@dataclass(frozen=True, slots=True)
class Place:
    """1-based line and column, in characters, of a key (or of an array's element) and of its value."""

    line: int
    column: int
    value_line: int
    value_column: int


def dotted(path: KeyPath) -> str:
    """`path` as messages write it: ("audit", "ignore", 0, "rule") is "audit.ignore[0].rule"."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if len(part) <= 80 and _BARE.fullmatch(part) else quoted(part[:80])
            text += f".{name}" if text else name
    return text


def quoted(value: object) -> str:
    """`value` as TOML or JSON writes it, in printable ASCII."""
    return json.dumps(value, default=str).replace("\x7f", "\\u007f")  # JSON does not escape DEL


def locate(text: str) -> Mapping[KeyPath, Place]:
    """The place of every table, key and array element in `text`, a TOML document that tomllib accepts."""
    scanner = _Scanner(text)
    with contextlib.suppress(_Lost, RecursionError):
        scanner.document()
    return scanner.places


def find(places: Mapping[KeyPath, Place], path: KeyPath) -> Place | None:
    """The place of `path`, or of its nearest parent that is in the text."""
    for length in range(len(path), 0, -1):
        if place := places.get(path[:length]):
            return place
    return None


class _Lost(Exception):
    """The text is not what the scanner expects."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.places: dict[KeyPath, Place] = {}
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._tables: dict[KeyPath, int] = {}  # arrays of tables, and how many tables each has so far

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self._at >= len(self._text):
                return
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        start = self._at
        many = self._text.startswith("[[", start)
        self._at += 2 if many else 1
        path = self._through_arrays(self._key(), many)
        self._expect("]]" if many else "]")
        self._note(path, start, start)
        return path

    def _through_arrays(self, path: KeyPath, many: bool) -> KeyPath:
        """A header's names, with the index of the last table after each array of tables on the path."""
        full: KeyPath = ()
        for number, name in enumerate(path):
            full += (name,)
            if many and number == len(path) - 1:
                self._tables[full] = self._tables.get(full, -1) + 1
            if full in self._tables:
                full += (self._tables[full],)
        return full

    def _pair(self, table: KeyPath) -> None:
        start = self._at
        path = table + self._key()
        self._expect("=")
        self._skip(_SPACE)
        self._note(path, start, self._at)
        self._value(path)

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            if match := _BARE.match(self._text, self._at):
                parts.append(match[0])
            elif match := _BASIC.match(self._text, self._at) or _LITERAL.match(self._text, self._at):
                parts.append(_unquoted(match[0]))
            else:
                raise _Lost
            self._at = match.end()
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(parts)
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        match self._text[self._at : self._at + 1]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case _:
                for pattern in (_LONG_BASIC, _LONG_LITERAL, _BASIC, _LITERAL, _SCALAR):
                    if match := pattern.match(self._text, self._at):
                        self._at = match.end()
                        return
                raise _Lost

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self._text.startswith("]", self._at):
                self._at += 1
                return
            self._note((*path, index), self._at, self._at)
            self._value((*path, index))
            index += 1
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while True:
            self._skip(_BLANK)
            if self._text.startswith("}", self._at):
                self._at += 1
                return
            self._pair(path)
            self._skip(_BLANK)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self._text, self._at):
            self._at = match.end()

    def _expect(self, token: str) -> None:
        self._skip(_SPACE)
        if not self._text.startswith(token, self._at):
            raise _Lost
        self._at += len(token)

    def _note(self, path: KeyPath, key: int, value: int) -> None:
        # A dotted key or a header also creates its parents; their place is the first mention.
        for length in range(1, len(path)):
            self.places.setdefault(path[:length], self._place(key, key))
        self.places[path] = self._place(key, value)

    def _place(self, key: int, value: int) -> Place:
        return Place(*self._position(key), *self._position(value))

    def _position(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1


def _unquoted(quoted: str) -> str:
    try:
        return str(tomllib.loads(f"key = {quoted}")["key"])
    except tomllib.TOMLDecodeError:
        raise _Lost from None
