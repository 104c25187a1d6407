"""Your own program as rules see it: which functions it calls, with which constants, and where.

This is the only file of the host that parses Python: your own program, which you are about to run anyway. Code that a
model wrote is never parsed here; cells go to a sealed session (cells.py).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.audit.finding import Location, Unreadable

#: Limit of a program's size: its syntax tree takes about two hundred times as many bytes.
MAX_CHARACTERS: Final = 1024 * 1024
#: Limit of a dotted name in characters. No rule needs a longer one, and each use of an imported name repeats it.
_LONGEST: Final = 256
#: Character counts of a long line are cached at every multiple of this many bytes.
_STEP: Final = 4096
_CONTINUATION: Final = bytes(range(0x80, 0xC0))


class _Unknown:
    """The value of an expression that is not a constant."""


UNKNOWN: Final = _Unknown()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `value` is a constant, or UNKNOWN; for a tuple or a list it is that of the first element.

    `name` is the argument's dotted name, "" if it is not a name.
    """

    value: Any
    name: str
    location: Location


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call. `name` is dotted, with imported names resolved: `np.load` is numpy.load."""

    name: str
    location: Location
    arguments: tuple[Argument, ...]
    keywords: Mapping[str, Argument]
    unpacked: bool
    """Whether `**something` may add further keywords."""

    @property
    def function(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(".")[2]

    def reads(self, keyword: str, position: int) -> str:
        """The dotted name of an argument; "" if it is not a name."""
        argument = self.keywords.get(keyword)
        if argument is None and len(self.arguments) > position:
            argument = self.arguments[position]
        return argument.name if argument else ""


@dataclass(frozen=True, slots=True)
class Text:
    """A string that has a name: a keyword, a key of a dict, or a variable."""

    name: str
    text: str
    location: Location


@dataclass(frozen=True, slots=True)
class PythonSubject:
    """A Python file."""

    file: str
    imports: Mapping[str, Location]
    """The dotted modules and names that it imports, each with the place of its first import."""
    calls: tuple[CallSite, ...]
    texts: tuple[Text, ...]

    def called(self, *names: str) -> Iterator[CallSite]:
        """The calls of any of these dotted names."""
        return (call for call in self.calls if call.name in names)


def read(source: str, file: str) -> PythonSubject:
    """The imports, calls and named strings of `source`. Raises Unreadable if it is not Python, or too long."""
    if len(source) > MAX_CHARACTERS:
        raise Unreadable(f"this program has more than {MAX_CHARACTERS:,} characters; look at it yourself")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about an audited file, such as invalid escapes, are noise
            tree = ast.parse(source)
    except SyntaxError as error:
        raise Unreadable(f"this is not Python: {error.msg}", error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("this Python cannot be parsed: it is nested too deeply, or holds a NUL") from None
    return _Reader(source, file).read(tree)


class _Reader:
    def __init__(self, source: str, file: str) -> None:
        self._file = file
        lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as the parser counts them
        # ASCII lines are not stored: there each byte is one character.
        self._lines = [b"" if line.isascii() else line.encode("utf-8", "replace") for line in lines]
        self._counted: dict[int, list[int]] = {}  # characters before each step of a line
        self._names: dict[str, str] = {}
        self._imports: dict[str, Location] = {}

    def read(self, tree: ast.Module) -> PythonSubject:
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._note_import(node)
        calls = sorted((self._call(node) for node in nodes if isinstance(node, ast.Call)), key=_place)
        texts = sorted((text for node in nodes for text in self._texts(node)), key=_place)
        return PythonSubject(self._file, self._imports, tuple(calls), tuple(texts))

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._import(alias.name, node)
                self._names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name[:_LONGEST] if alias.asname else alias.name[:_LONGEST].partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = node.module[:_LONGEST]
            self._import(module, node)
            for alias in node.names:
                name = f"{module}.{alias.name[:_LONGEST]}"[:_LONGEST]
                self._import(name, node)
                self._names[alias.asname or alias.name] = name

    def _import(self, name: str, node: ast.stmt) -> None:
        self._imports.setdefault(name[:_LONGEST], self._at(node))

    def _call(self, node: ast.Call) -> CallSite:
        return CallSite(
            name=self._dotted(node.func),
            location=self._at(node),
            arguments=tuple(self._argument(each) for each in node.args),
            keywords={each.arg: self._argument(each.value) for each in node.keywords if each.arg},
            unpacked=any(each.arg is None for each in node.keywords),
        )

    def _argument(self, node: ast.expr) -> Argument:
        first = node.elts[0] if isinstance(node, ast.Tuple | ast.List) and node.elts else node
        name = self._dotted(first) if isinstance(first, ast.Name | ast.Attribute) else ""
        return Argument(first.value if isinstance(first, ast.Constant) else UNKNOWN, name, self._at(first))

    def _texts(self, node: ast.AST) -> Iterator[Text]:
        if isinstance(node, ast.Call):
            pairs = [(each.arg or "", each.value) for each in node.keywords]
        elif isinstance(node, ast.Dict):
            named = [(key, value) for key, value in zip(node.keys, node.values, strict=True)]
            texts = [(key.value, value) for key, value in named if isinstance(key, ast.Constant)]
            pairs = [(key, value) for key, value in texts if isinstance(key, str)]
        elif isinstance(node, ast.Assign):
            pairs = [(self._dotted(_target(each)), node.value) for each in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(self._dotted(node.target), node.value)]
        else:
            return
        for name, value in pairs:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield Text(name.rpartition(".")[2], value.value, self._at(value))

    def _dotted(self, node: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            parts.append(self._names.get(node.id, node.id))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not parts:
            return node.value  # os.environ["OPENAI_API_KEY"] = ...
        else:
            parts.append("")
        return ".".join(reversed(parts))

    def _at(self, node: ast.stmt | ast.expr) -> Location:
        return Location(self._file, node.lineno, self._characters(node.lineno - 1, node.col_offset) + 1)

    def _characters(self, number: int, size: int) -> int:
        """The number of characters in the first `size` bytes of a line."""
        line = self._lines[number] if number < len(self._lines) else b""
        if not line:
            return size
        if (counted := self._counted.get(number)) is None:
            counted = [0]
            for start in range(0, len(line), _STEP):
                counted.append(counted[-1] + _count(line[start : start + _STEP]))
            self._counted[number] = counted
        step = min(size, len(line)) // _STEP
        return counted[step] + _count(line[step * _STEP : size])


def _count(data: bytes) -> int:
    """The number of characters that begin in `data`, which is UTF-8."""
    return len(data.translate(None, _CONTINUATION))


def _target(node: ast.expr) -> ast.expr:
    return node.slice if isinstance(node, ast.Subscript) else node


def _place(entry: CallSite | Text) -> tuple[int, int]:
    return entry.location.line, entry.location.column
