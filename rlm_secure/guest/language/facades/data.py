"""Converts arguments of library functions to plain data, so that no hook of a cell's object is called.

Library code has no guards. It calls type(x)(...) for the items that it adds up, methods of its text arguments, and
`==` on the keys of its caches. For an object of a cell this is the cell's own code, which is called with objects of the
library. So functions that compute get data: new copies of exact built-in types, which have no hooks.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from ..registry import derives, is_class, is_instance, stored
from ..registry import title as title_of
from .checks import keywords

_DEPTH = 16

#: Types whose instances contain nothing of a cell.
_ATOMS: frozenset[type] = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, decimal.Decimal, datetime.date, datetime.timedelta,
        datetime.timezone,
    }
)  # fmt: skip
_SEQUENCES: tuple[type, ...] = (list, tuple, set, frozenset, collections.deque)

_PARTS = tuple(fractions.Fraction.__dict__[name].__get__ for name in ("_numerator", "_denominator"))

#: Further types whose instances are data; the facade modules add types of their own.
_FINAL: set[type] = set()


def is_final(kind: type) -> type:
    """Declare that instances of the class `kind` contain nothing of a cell. Can be used as a decorator."""
    _FINAL.add(kind)
    return kind


def data(value: Any, asked_by: str) -> Any:
    """A copy of `value` in exact built-in types; an iterator becomes a list. Raises TypeError for anything else."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    found = _copy(value, kind, _DEPTH, asked_by)
    if found is not _NONE:
        return found
    # An iterator, a view, or another iterable: its hooks are called without arguments, and its items are converted.
    if is_class(value) or stored(kind, "__iter__") is None:
        raise _refused(kind, asked_by)
    return _items(value, _DEPTH, asked_by)


def parts_of(value: fractions.Fraction) -> tuple[Any, ...]:
    """The stored parts of `value`, a Fraction or an instance of a derived class, whose properties are not called."""
    return tuple(part(value) for part in _PARTS)


_NONE: Any = object()


def _copy(value: Any, kind: type, depth: int, asked_by: str) -> Any:
    if kind in _ATOMS or kind in _FINAL:
        return value
    if depth == 0:
        raise TypeError(f"{asked_by} takes data of at most {_DEPTH} levels; flatten it.")
    if kind in _SEQUENCES:
        items = _items(value, depth, asked_by)
        return items if kind is list else kind(items)
    if derives(kind, str):
        return str.__str__(value)
    if kind is bytearray:
        return bytearray(value)
    if kind is fractions.Fraction:
        if all(type(part) is int for part in parts_of(value)):
            return value
    elif kind is datetime.datetime or kind is datetime.time:
        if type(value.tzinfo) in (type(None), datetime.timezone) or type(value.tzinfo) in _FINAL:
            return value
    elif derives(kind, dict):
        pairs = list(dict.items(value))
        keys = _items([key for key, _ in pairs], depth, asked_by)
        return dict(zip(keys, _items([item for _, item in pairs], depth, asked_by), strict=True))
    elif derives(kind, tuple):  # a named tuple
        return tuple(_items(tuple.__iter__(value), depth, asked_by))
    elif derives(kind, enum.Enum):
        # A member of IntEnum becomes its number. Any hooks of a derived class are removed by this.
        for plain, exact in ((int, int.__index__), (float, float.__float__)):
            if derives(kind, plain):
                return exact(value)
    return _NONE


def _items(values: Iterable[Any], depth: int, asked_by: str) -> list[Any]:
    """The items of `values` as data. Nearly always every item is an atom, for which there is a fast path."""
    items = list(values)
    if set(map(type, items)) <= _ATOMS:
        return items
    for at, item in enumerate(items):
        kind = type(item)
        found = _copy(item, kind, depth - 1, asked_by)
        if found is _NONE:
            raise _refused(kind, asked_by)
        items[at] = found
    return items


def _refused(kind: type, asked_by: str) -> TypeError:
    shown = title_of(kind)
    return TypeError(f"{asked_by} takes numbers, text and containers of them, not {shown}; pass its values instead.")


def takes_data(function: Callable[..., Any], *, title: str, opaque: str = "", method: type | None = None) -> Any:
    """Wrap `function` so that it gets plain data; parameters named in `opaque` are passed unchanged ("*": all of them).

    With `method`, `function` belongs to that class, and its self must be an instance of it by the exact mro.
    """
    everything = opaque == "*"
    names = list(inspect.signature(function).parameters) if opaque and not everything else []
    passed = frozenset() if everything else frozenset(opaque.split())
    if unknown := passed - set(names):
        raise ValueError(f"{title} has no {sorted(unknown)[0]}.")
    first = 0 if method is None else 1
    kept = frozenset(at for at, name in enumerate(names) if name in passed)

    def wrapper(*values: Any, **options: Any) -> Any:
        if method is not None and (not values or not is_instance(values[0], method)):
            raise TypeError(f"{title} takes an instance of its class as self.")
        if not options and _ATOMS.issuperset(map(type, values[first:])):
            return function(*values)
        if everything:
            return function(*values, **options)
        given = [value if at < first or at in kept else data(value, title) for at, value in enumerate(values)]
        if options:
            keywords(options, title)
            options = {name: value if name in passed else data(value, title) for name, value in options.items()}
        return function(*given, **options)

    wrapper.__name__ = function.__name__
    wrapper.__qualname__ = function.__qualname__
    wrapper.__module__ = function.__module__
    wrapper.__doc__ = function.__doc__
    return wrapper


def functions(module: types.ModuleType, listed: str, **opaque: str) -> dict[str, Any]:
    """The functions of `module` that are `listed` (and exist in this Python), wrapped by `takes_data`.

    `opaque` gives, by function name, the parameters that are passed unchanged: those that the library only passes on,
    or calls with data.
    """
    return {
        name: takes_data(getattr(module, name), title=f"{module.__name__}.{name}", opaque=opaque.get(name, ""))
        for name in listed.split()
        if hasattr(module, name)
    }


def methods(owner: type, listed: str, **opaque: str) -> None:
    """Make the `listed` methods of `owner` only take data. In place, because super() would bypass a subclass."""
    for name in listed.split():
        found = owner.__dict__.get(name)
        if found is None:
            continue  # of another Python version
        title = f"{owner.__name__}.{name}"
        if type(found) is classmethod:
            setattr(owner, name, classmethod(_of_class(found.__func__, title, owner)))
        else:
            made = takes_data(found, title=title, opaque=opaque.get(name, ""), method=owner)
            setattr(owner, name, made)


def _of_class(function: Callable[..., Any], title: str, owner: type) -> Callable[..., Any]:
    def wrapper(_cls: type, /, *values: Any) -> Any:
        return function(owner, *(data(value, title) for value in values))

    wrapper.__name__, wrapper.__qualname__ = function.__name__, function.__qualname__
    wrapper.__doc__ = function.__doc__
    return wrapper
