"""YAML documents as plain values, with the place of each part that is written out.

Only the event parser of PyYAML is used: its composer recurses without a depth limit, and its nodes repeat aliases
without a size limit. Here an alias counts as much as the value that it repeats, so the size of the result is limited.
Tags are not obeyed: no object is constructed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.audit.finding import Unreadable
from rlm_secure.audit.read.document import MAX_DEPTH, Document, KeyPath

#: Limit of a file's characters: PyYAML reads about ten thousand in a second.
MAX_CHARACTERS: Final = 512 * 1024
#: Limits of nodes and of the characters of their texts, including repetitions by aliases and merges.
_MAX_NODES: Final = 50_000
_MAX_TEXT: Final = 4 * 1024 * 1024
#: Longer texts are always strings: never a number, a boolean or a date.
_MAX_SCALAR: Final = 256
_MERGE: Final = "tag:yaml.org,2002:merge"
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


def read_yaml(text: str, file: str) -> Document:
    """Parse the first document of a YAML file. Raises Unreadable; without PyYAML for every file."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ModuleNotFoundError:
        raise Unreadable("reading YAML needs PyYAML: pip install pyyaml, or give the file as JSON") from None
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"this YAML has more than {MAX_CHARACTERS:,} characters; give it as JSON")
    try:
        reader = _Reader(yaml, text)
        return Document(file, reader.first(), reader.places)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = str(getattr(error, "problem", None) or "unreadable")[:200]
        raise Unreadable(f"this is not YAML: {reason}", line, column) from None
    except (ValueError, RecursionError) as error:  # such as an escape of an invalid code point
        raise Unreadable(f"this is not YAML: {type(error).__name__}") from None


@dataclass(frozen=True, slots=True)
class _Part:
    """A value and its size, which each alias to it adds again: nodes, characters, and levels below it."""

    value: Any
    nodes: int = 1
    text: int = 0
    levels: int = 0


class _Reader:
    def __init__(self, yaml: Any, text: str) -> None:
        self.places: dict[KeyPath, tuple[int, int]] = {}
        self._yaml = yaml
        self._loader = yaml.SafeLoader(text)
        self._anchors: dict[str, _Part] = {}
        self._written: dict[int, tuple[Any, KeyPath]] = {}  # id -> mapping (kept alive so that the id is unique), path
        self._nodes = _MAX_NODES
        self._text = _MAX_TEXT

    def first(self) -> Any:
        """The value of the first document; None if there is none."""
        self._loader.get_event()  # StreamStartEvent
        if isinstance(self._loader.get_event(), self._yaml.StreamEndEvent):
            return None
        return self._part(self._loader.get_event(), ()).value

    def _part(self, event: Any, path: KeyPath) -> _Part:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        self.places.setdefault(path, (line, column))
        if isinstance(event, self._yaml.AliasEvent):
            part = self._anchors.get(event.anchor)
            if part is None:
                raise Unreadable("an alias names nothing that is complete before it", line, column)
        elif isinstance(event, self._yaml.ScalarEvent):
            part = _Part(_scalar(event.value, self._tag(event)), text=len(event.value))
        else:
            if len(path) >= MAX_DEPTH:
                raise Unreadable(f"this YAML is nested deeper than {MAX_DEPTH}", line, column)
            is_list = isinstance(event, self._yaml.SequenceStartEvent)
            part = self._sequence(path) if is_list else self._mapping(path)
        if event.anchor is not None:
            self._anchors[event.anchor] = part
        # The contents of a list or a mapping have been counted already; those that an alias repeats have not.
        repeated = isinstance(event, self._yaml.AliasEvent)
        self._count(part.nodes if repeated else 1, part.text if repeated or not part.levels else 0, line)
        if len(path) + part.levels > MAX_DEPTH:
            raise Unreadable(f"this YAML is nested deeper than {MAX_DEPTH}", line, column)
        return part

    def _sequence(self, path: KeyPath) -> _Part:
        found: list[_Part] = []
        while not isinstance(event := self._loader.get_event(), self._yaml.SequenceEndEvent):
            found.append(self._part(event, (*path, len(found))))
        return _around([each.value for each in found], found)

    def _mapping(self, path: KeyPath) -> _Part:
        found: dict[str, Any] = {}
        parts: list[_Part] = []
        while not isinstance(event := self._loader.get_event(), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent):
                place = event.start_mark
                raise Unreadable("a key is not plain text; write its name", place.line + 1, place.column + 1)
            name = event.value
            inner = (*path, name)
            self.places[inner] = (event.start_mark.line + 1, event.start_mark.column + 1)
            self._count(0, len(name), event.start_mark.line + 1)
            part = self._part(self._loader.get_event(), inner)
            parts.append(part)
            if self._tag(event) == _MERGE and isinstance(part.value, dict | list):
                for base in part.value if isinstance(part.value, list) else [part.value]:
                    if isinstance(base, dict):
                        self._count(len(base) + len(found), 0, event.start_mark.line + 1)
                        self._place_merged(base, path, inner)
                        found = base | found
            else:
                found[name] = part.value
        self._written[id(found)] = found, path
        return _around(found, parts, sum(map(len, found)))

    def _place_merged(self, base: dict[str, Any], path: KeyPath, merge: KeyPath) -> None:
        """Give the keys that are merged into `path` the places where they are written."""
        _, written = self._written[id(base)]
        for name in base:
            self.places.setdefault((*path, name), self.places.get((*written, name), self.places[merge]))

    def _tag(self, event: Any) -> str:
        if event.tag not in (None, "!"):
            return str(event.tag)
        if len(event.value) > _MAX_SCALAR:
            return ""
        return str(self._loader.resolve(self._yaml.ScalarNode, event.value, event.implicit))

    def _count(self, nodes: int, text: int, line: int) -> None:
        self._nodes -= nodes
        self._text -= text
        if self._nodes < 0 or self._text < 0:
            raise Unreadable("this YAML is too large, counting what its aliases repeat", line)


def _around(value: Any, parts: list[_Part], text: int = 0) -> _Part:
    nodes = 1 + sum(each.nodes for each in parts)
    text += sum(each.text for each in parts)
    return _Part(value, nodes, text, 1 + max((each.levels for each in parts), default=0))


def _scalar(text: str, tag: str) -> Any:
    kind = tag.rpartition(":")[2]
    if len(text) > _MAX_SCALAR:
        return text
    if kind == "bool" and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    if kind == "null":
        return None
    if kind in ("int", "float"):
        try:
            return int(text, 0) if kind == "int" else float(text)
        except ValueError:
            return text
    return text
