"""The digest of a variable: all that it holds, found without running code of a cell.

A cell can have changed a variable to an object that answers as the old value did, so what it holds is read by its exact
class: builtin ones, and the tables of packages, whose parts are named in the zygote.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..language.registry import title
from . import tagged

#: Cells of a batch, and characters in it after which it ends.
_CELLS = 10_000
_CHARACTERS = 1 << 20
_ENCODE = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

#: Classes of tables of third-party packages -> the function that gives the parts of one, as `_parts` has them.
_tables: dict[type, Callable[[Any], Iterator[tuple[Any, list[Any]]]]] = {}


def know(tables: dict[type, Callable[[Any], Iterator[tuple[Any, list[Any]]]]]) -> None:
    """Read values of these classes by these functions. Called in the zygote."""
    _tables.update(tables)


def digest(value: Any) -> str:
    """SHA-256 in hex of a value of exact builtin classes, a dict of lists in parts, or a table. Raises NotPlain."""
    sha = hashlib.sha256()
    tagger = tagged.Tagger(sys.maxsize, sys.maxsize)

    def add(part: list[Any]) -> None:
        # Each part is a list of JSON, which says where it ends.
        sha.update(_ENCODE(tagger.tag(part, tagged.DEPTH)).encode("utf-8", "surrogatepass"))

    for head, cells in _parts(value):
        add([head, len(cells)])
        for batch in _batches(cells):
            add(batch)
            # A single value of a package is written as what it stands for: say where there are such.
            add([[at, title(type(each))] for at, each in enumerate(batch) if tagged.is_single(each)])
    return sha.hexdigest()


def _parts(value: Any) -> Iterator[tuple[Any, list[Any]]]:
    """`value` as heads, each with a list of cells: all of them together are the value."""
    kind = type(value)
    if kind in _tables:
        yield "table", []
        yield from _tables[kind](value)
    elif kind is dict:
        yield "dict", []
        for key, item in dict.items(value):
            yield ([key, "list"], item) if type(item) is list else ([key, "value"], [item])
    else:
        yield "value", [value]


def _batches(cells: list[Any]) -> Iterator[list[Any]]:
    """Parts of `cells`, none of which takes much more memory than its longest cell."""
    begin = held = 0
    for at, each in enumerate(cells):
        held += len(each) if type(each) in (str, bytes) else 1
        if at - begin == _CELLS or held > _CHARACTERS:
            yield cells[begin : at + 1]
            begin, held = at + 1, 0
    yield cells[begin:]
