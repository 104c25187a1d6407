"""Functions with holes, as facades might have them: the crawler must find each."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

_table: dict[str, Any] = {"x": 1}


def hands_out_type(value: Any = None) -> Any:
    """As Counter.copy was: it calls a hook with something that no cell may hold."""
    return value.hook(type)


def leaks_a_module(value: Any = None) -> None:
    """In an attribute of an exception."""
    error = ValueError(value)
    error.state = sys  # type: ignore[attr-defined]
    raise error


def converts_like_statistics(data: Any = None) -> Any:
    """As statistics.mean was: with a class as data, the type of an item is the metaclass."""
    kinds, total = set(), 0
    for item in data:
        kinds.add(type(item))
        number, _ = item.as_integer_ratio()
        total = number + total
    return kinds.pop()(total / 1)


def shares_a_table(key: Any = None, value: Any = None) -> None:
    """What one cell writes, the whole process reads."""
    if type(key) is str:
        _table[key] = value


def trusts_names(value: Any = None) -> Any:
    """As a generated class was: a hook's text becomes source."""
    space: dict[str, Any] = {}
    exec(f"def made(x={str(value)}): pass", {}, space)
    return space["made"]


def opens(path: Any = None) -> Any:
    """The interpreter opens a file."""
    return open(path)


def hands_out_a_chain(value: Any = None) -> Any:
    """As Counter.elements was: an iterator that is not safe when a cell asks it while it is asking the cell."""
    return itertools.chain([value])


def crashes(value: Any = None) -> None:
    """As `date.replace` did of a datetime: the interpreter ends."""
    if len(value) == 2:
        import ctypes

        ctypes.string_at(0)


#: name -> the function, and what is said of it (a regular expression).
HOLES: dict[str, tuple[Callable[..., Any], str]] = {
    "hands_out_type": (hands_out_type, r"is type "),
    "leaks_a_module": (leaks_a_module, r"is a module"),
    "converts_like_statistics": (converts_like_statistics, r"is type "),
    "shares_a_table": (shares_a_table, r"shared state was changed: tests\.crawler\.holes\._table"),
    "trusts_names": (trusts_names, r"code of a hook ran inside generated code"),
    "opens": (opens, r"the interpreter was made to open"),
    "hands_out_a_chain": (hands_out_a_chain, r"is a chain, which is not safe"),
    "crashes": (crashes, r"the interpreter ended with signal"),
}
