"""Reads a trajectory file, of RLMLogger or of upstream's logger, an entry at a time.

A log's content was written by models and cells: lines are limited in number, length, depth and values, and what a file
stands for is limited as well, since a short turn may refer to many messages.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from rlm_secure import files
from rlm_secure.turns import FORMAT, BrokenTurn, whole
from rlm_secure.untrusted_json import LOG_DEPTH, MalformedJson, loads

#: Longest file and longest line, in bytes, lines of a file, and values in a line.
_FILE: Final = 512 * 1024 * 1024
_LINE: Final = 64 * 1024 * 1024
_LINES: Final = 1_000_000
_NODES: Final = 500_000
#: Characters that a file may have in upstream's format.
_EXPORT: Final = 16 * 1024**3


def read_trajectory(path: str | Path) -> Iterator[dict[str, Any]]:
    """The entries of a trajectory file in the form of upstream's logger: each turn with its whole prompt.

    Entries are read one at a time. A message that several turns have is one object in all of them: do not change it.
    Raises OSError where the file cannot be read or is no regular file, and ValueError for one that is too large, for a
    line that is no JSON object, and for a turn that refers to messages which are not there.
    """
    with open_log(path) as file:
        number = 0

        def counted() -> Iterator[dict[str, Any]]:
            nonlocal number
            for at, entry in entries(file):
                number = at
                yield _checked(entry)

        try:
            yield from whole(counted())
        except BrokenTurn as broken:
            raise ValueError(f"line {number} of {path} cannot be read: {broken}") from None


def _checked(entry: dict[str, Any] | str) -> dict[str, Any]:
    """A line's object, without the mark of its format. Raises BrokenTurn."""
    if not isinstance(entry, dict):
        raise BrokenTurn(entry)
    if entry.get("type") == "metadata" and entry.pop("format", FORMAT) != FORMAT:
        raise BrokenTurn("its format is not one that this version knows; read it with the version that wrote it")
    return entry


def upstream_lines(log: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The file that upstream's logger would have written, in pieces. Raises ValueError beyond _EXPORT characters."""
    room = _EXPORT
    for piece in _pieces(log):
        room -= len(piece)
        if room < 0:
            raise ValueError(f"in upstream's format it is larger than {_EXPORT // 1024**3} GiB; split it by its runs")
        yield piece


def _pieces(log: Iterable[dict[str, Any]]) -> Iterator[str]:
    encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
    known: dict[int, tuple[Any, str]] = {}
    for entry in log:
        prompt = entry.get("prompt")
        # A message that several turns have is one object, and encoded once.
        messages = prompt if isinstance(prompt, list) else []
        known = {id(each): known.get(id(each)) or (each, encoder.encode(each)) for each in messages}
        for number, (name, value) in enumerate(entry.items()):
            yield f"{',' if number else '{'}{encoder.encode(name)}:"
            if name == "prompt" and isinstance(value, list):
                yield "["
                for index, each in enumerate(messages):
                    yield f"{',' if index else ''}{known[id(each)][1]}"
                yield "]"
            else:  # what the turns of a child stand for may be too large to be encoded at once
                yield from encoder.iterencode(value)
        yield "}\n" if entry else "{}\n"


def open_log(path: str | Path) -> BinaryIO:
    """A trajectory file. Raises OSError, and ValueError where it is too large."""
    file = os.fdopen(files.open_file(path), "rb")
    if os.fstat(file.fileno()).st_size > _FILE:
        file.close()
        raise ValueError(f"{path} is larger than {_FILE // 1024 // 1024} MiB; split it by lines first")
    return file


def entries(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """The number of each line, and its JSON object as it is written; a text where it is none. Ends after _LINES."""
    for number, line in enumerate(_lines(file), 1):
        if number > _LINES:
            yield number, f"there are more than {_LINES:,} lines, and no more are shown; split the file by lines"
            return
        try:
            entry = loads(line, depth=LOG_DEPTH, nodes=_NODES)
        except MalformedJson:
            entry = None
        yield number, entry if isinstance(entry, dict) else f"line {number} is not a JSON object"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; only the beginning of those that are too long. Ends after `_FILE` bytes, if a file grows."""
    left, begins = _FILE, True
    while left > 0 and (line := file.readline(_LINE)):
        left -= len(line)
        if begins:
            yield line
        begins = line.endswith(b"\n")
