"""Which variables the result of a cell describes: those that the cell bound, and those that it can have changed.

So a cell costs the same whatever its session holds. The host keeps what it was told of all others. A change is found by
names: the cell's own, those in the functions and classes that it names, and other names of the same objects. What is
reached in another way only (`rows = data["rows"]` in one cell, `rows.append(1)` in the next) keeps its earlier
description, until a cell names it.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Collection, Mapping
from itertools import compress
from operator import ne
from typing import Any

from ..language import compiler
from ..language.names import NAMESPACE
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
        #: Names that the host has bound since.
        self._assigned: dict[str, int] = {}
        self._told: set[str] = set()
        self._whole, self._crowded, self._new = True, False, 0
        self._seen: tuple[list[str], list[int]] = [*namespace], [*map(id, namespace.values())]
        self._bound = self._seen

    def assigned(self, name: str) -> None:
        """The host has bound `name`: it is described after the next cell, which has not bound it."""
        self._assigned[name] = id(self._namespace[name])

    def forget(self) -> None:
        """The host has nothing of what it was told: the next result describes every variable."""
        self._whole = True

    def of_cell(self, mentioned: Collection[str]) -> tuple[list[str], frozenset[str]]:
        """The names that a result describes, and which of them its cell bound. `mentioned` are those in its code."""
        bound = self._bound_names()
        if self._whole:
            self._new = 0
            return self._seen[0], frozenset(bound)
        self._new = len(self._told)
        touched = self._touched([*mentioned, *bound])
        return [*dict.fromkeys([*bound, *self._assigned, *touched])], frozenset(bound)

    def _bound_names(self) -> list[str]:
        """The names that are bound to another object than after the last cell, and not by the host.

        By address: a reference would keep what a cell deletes. Where a new object has the address of an old one, what
        binds it mentions the name, or sets items of globals().
        """
        names, (before, old) = dict(self._namespace), self._bound  # a copy, as a finalizer may bind others meanwhile
        self._seen = now, new = [*names], [*map(id, names.values())]
        if now[: len(before)] == before:
            bound = [*compress(before, map(ne, new, old)), *now[len(before) :]]
        else:
            known = dict(zip(before, old, strict=True))
            bound = [name for name, address in zip(now, new, strict=True) if known.get(name) != address]
        if not self._assigned:
            return bound
        return [name for name in bound if self._assigned.get(name) != id(names[name])]

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
        self._bound = self._seen
        self._assigned.clear()
        if self._whole:
            self._told, self._whole = set(described), False
            return None
        gone = [*self._told.difference(self._seen[0])]
        self._told.difference_update(gone)
        self._told.update(described)
        if gone and self._crowded:  # there is room for others now
            self._whole, self._crowded = True, False
        return gone

    def _touched(self, mentioned: Collection[str]) -> list[str]:
        """The names that code mentions, and others whose values it can have changed by what it mentions."""
        names = self._namespace
        if NAMESPACE in mentioned:  # it sets items of globals()
            return [*names]
        found = [name for name in mentioned if name in names]
        for name in found:
            if type(names.get(name)) not in _FIXED:
                break
        else:
            return found
        names = dict(names)  # a copy, as above
        reached = _reached(mentioned, names)
        if reached is None:
            return [*names]
        changed = {id(names[name]) for name in reached if type(names[name]) not in _FIXED}
        found = [name for name in mentioned if name in names]
        return found + [name for name, value in names.items() if id(value) in changed] if changed else found


def _reached(mentioned: Collection[str], names: Mapping[str, Any]) -> set[str] | None:
    """The variables among `mentioned`, and those that their functions and classes mention, and so on.

    None if these can be all: a function sets items of globals(), or there is more code than is looked through. Runs
    none of it.
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
                names_in_code = compiler.mentioned(value.__code__)
                if NAMESPACE in names_in_code:
                    return None
                found(names_in_code)
                for cell in value.__closure__ or ():
                    waiting += gc.get_referents(cell)  # in one step: a finalizer may empty the cell
        elif kind is types.MethodType:
            waiting += [value.__func__, value.__self__]
        elif kind is property:
            waiting += [value.fget, value.fset, value.fdel]
        elif kind in (staticmethod, classmethod):
            waiting.append(value.__func__)
        elif own_class(value):
            for base in filter(own_class, order_of(value)):
                waiting += namespace_of(base).values()
        elif own_instance(value):
            waiting.append(kind)
    return reached
