"""Which variables the result of a cell describes: those that the cell bound, and those that it can have changed.

So a cell costs the same whatever its session holds. The host keeps what it was told of all others. A change is found by
names: the cell's own, those in the functions and classes that it names, and other names of the same objects. What
is reached in another way only (`rows = data["rows"]` in one cell, `rows.append(1)` in the next) keeps its earlier description,
until a cell names it.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Collection, Mapping
from typing import Any

from ..language import compiler
from ..language.registry import namespace_of, order_of, own_class, own_function, own_instance

#: Most variables that the host keeps the descriptions of, as broker/protocol.py has it.
MAX_NAMES = 256
#: Values of these classes never change: while a name is bound to the same one, its description holds.
_FIXED = frozenset({int, float, complex, bool, str, bytes, type(None), range})
#: Classes whose values hold no code of a cell.
_BARE = _FIXED | {list, dict, tuple, set, frozenset, bytearray, types.BuiltinFunctionType, types.ModuleType}
#: Functions, classes and other parts of a cell's code that are looked through. If there are more, every variable counts
#: as changed.
_PARTS = 1000


class Changes:
    """The names of one session's `namespace`, and what the host was told of them."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        # By address: a reference would keep what a cell deletes. Where a new object has the address of an old one, the
        # cell, or a function that it calls, mentions the name.
        self._bound: dict[str, int] = {}
        self._assigned: set[str] = set()
        self._told: set[str] = set()
        self._whole, self._crowded, self._new = True, False, 0
        self._look()

    def assigned(self, name: str) -> None:
        """The host has bound `name`: it is described after the next cell, which has not bound it."""
        self._assigned.add(name)
        self._bound[name] = id(self._namespace[name])

    def forget(self) -> None:
        """The host has nothing of what it was told: the next result describes every variable."""
        self._whole = True

    def of_cell(self, mentioned: Collection[str]) -> tuple[list[str], frozenset[str]]:
        """The names that the result of a cell describes, and which of them it bound. `mentioned` are those in its code."""
        held = list(self._namespace.items())
        self._new = 0 if self._whole else len(self._told)
        before = self._bound
        bound = [name for name, value in held if before.get(name) != id(value)]
        if self._whole:
            return [name for name, _ in held], frozenset(bound)
        return list(dict.fromkeys([*bound, *self._assigned, *self._touched([*mentioned, *bound], held)])), frozenset(bound)

    def has_room(self, name: str) -> bool:
        """Whether the host takes one more variable, `name`, if it has not been told of it."""
        if self._whole or name not in self._told:
            if self._new == MAX_NAMES:
                self._crowded = True
                return False
            self._new += 1
        return True

    def tell(self, described: Collection[str]) -> list[str] | None:
        """Note what the host is told now. Returns the names that are gone; None if these are all variables."""
        whole = self._whole
        gone = [] if whole else [name for name in self._told if name not in self._namespace]
        self._told = set(described) if whole else self._told.difference(gone).union(described)
        self._assigned.clear()
        self._look()
        self._whole = self._crowded and bool(gone)  # there is room for others now
        self._crowded = self._crowded and not gone
        return None if whole else gone

    def _look(self) -> None:
        self._bound = {name: id(value) for name, value in list(self._namespace.items())}

    def _touched(self, mentioned: Collection[str], held: list[tuple[str, Any]]) -> list[str]:
        """Those of the names `held` that code mentions, or whose values it can have changed by what it mentions."""
        names = self._namespace
        reached = _reached(mentioned, names)
        if reached is None:
            return [name for name, value in held if name in mentioned or type(value) not in _FIXED]
        changed = {id(names[name]) for name in reached if type(names[name]) not in _FIXED}
        found = [name for name in mentioned if name in names]
        return found + [name for name, value in held if id(value) in changed] if changed else found


def _reached(mentioned: Collection[str], names: Mapping[str, Any]) -> set[str] | None:
    """The variables among `mentioned`, and those that their functions and classes mention, and so on.

    None if there is more code than is looked through. Runs none of it.
    """
    reached: set[str] = set()
    waiting: list[Any] = []
    seen: set[int] = set()

    def found(mentioned: Collection[str]) -> None:
        for name in mentioned:
            if name in names and name not in reached:
                reached.add(name)
                waiting.append(names[name])

    found(mentioned)
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in _BARE or id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > _PARTS:
            return None
        if kind is types.FunctionType:
            if own_function(value):
                found(compiler.mentioned(value.__code__))
                waiting += [cell.cell_contents for cell in value.__closure__ or () if gc.get_referents(cell)]
        elif kind is types.MethodType:
            waiting += [value.__func__, value.__self__]
        elif kind is property:
            waiting += [value.fget, value.fset, value.fdel]
        elif kind in (staticmethod, classmethod):
            waiting.append(value.__func__)
        elif own_class(value):
            waiting += [held for base in order_of(value) if own_class(base) for held in list(namespace_of(base).values())]
        elif own_instance(value):
            waiting.append(kind)
    return reached
