"""Library methods kept to their own instances.

Library code has no guards, and Python hands out a class's methods as plain functions: `Counter.copy(x)` does to any
`x` what was written for a Counter. Most of them only fail. Those listed here do not, so each gets a look at its
`self` first. They are changed in place, since super(Counter, Counter).copy would reach past a derived class; this
process runs nothing but cells, and no correct call notices.
"""

from __future__ import annotations

import calendar
import collections
import contextlib
import csv
import functools
import inspect
from collections.abc import Callable
from typing import Any

# They say self.__class__(...): given a class, that calls `type`. Counter.copy(int) was `type` itself, and
# ChainMap.new_child(C, "X") made a class out of whatever C.maps held.
_MAKE = (
    (collections.Counter, "copy"),
    (collections.ChainMap, "copy"),
    (collections.ChainMap, "__copy__"),
    (collections.ChainMap, "new_child"),
    (collections.ChainMap, "parents"),
)
# They set attributes of fixed names, on objects and classes that no cell may change.
_WRITE = (
    (calendar.Calendar, "setfirstweekday"),
    (calendar.Calendar, "firstweekday"),
    (csv.DictReader, "fieldnames"),
    (contextlib.ExitStack, "callback"),
    (contextlib.ExitStack, "pop_all"),
)


def keep() -> None:
    """Do it. Twice does no harm."""
    for owner, name in _MAKE + _WRITE:
        stored = inspect.getattr_static(owner, name)
        if isinstance(stored, property):
            fget, fset, fdel = (part and _kept(owner, name, part) for part in (stored.fget, stored.fset, stored.fdel))
            setattr(owner, name, property(fget, fset, fdel, stored.__doc__))
        else:
            setattr(owner, name, _kept(owner, name, stored))


def _kept(owner: type, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(inner)
    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        if not issubclass(type(self), owner):
            raise TypeError(f"{name} of {owner.__name__} takes an instance of it, not {type(self).__name__}.")
        return inner(self, *values, **options)

    return method
