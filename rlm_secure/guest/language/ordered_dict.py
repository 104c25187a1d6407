"""An OrderedDict in Python, because hooks of a cell can make the C version use freed memory.

The C version keeps a list of its keys beside its dict. Methods of dict, and hooks that change it while it is compared,
copied or printed, can make the two differ, and it then follows pointers into freed memory. This version has no list: a
dict keeps its order by itself. The library's own Python version is not safe either: it passes its links to anybody who
calls `__setitem__` with another default, and sets attributes on objects that a `__getattr__` returns.

The differences for programs: the time of `move_to_end(key, last=False)` grows with the number of keys, `move_to_end`
keeps the key object that is passed to it, and the views are called dict_keys.
"""

from __future__ import annotations

import collections
import math
import operator
import pprint
import reprlib
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

_C = collections.OrderedDict
_order_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_NONE = object()
_SHOWN: Callable[..., Any] = list if sys.version_info < (3, 12) else dict


def _sparse() -> Callable[[int], bool]:
    state = 0

    def sparse(length: int) -> bool:
        """Whether to close the gaps at the front of a dict now: once in so many calls, so that the cost is spread."""
        nonlocal state
        state = (state + 0x9E3779B1) & 0xFFFFFFFF
        return state * (8 + 8 * math.isqrt(length)) < 1 << 32

    return sparse


_is_sparse = _sparse()


class OrderedDict(dict[Any, Any]):
    """Dictionary that remembers insertion order"""

    __module__ = "collections"

    def __init__(self, other: Any = (), /, **named: Any) -> None:
        _fill(self, other, named)

    def update(self, other: Any = (), /, **named: Any) -> None:
        """As dict.update; a derived class is given each item by its `__setitem__`."""
        _fill(self, other, named)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of `key`, which is `default` from here on if there was none."""
        if type(self) is OrderedDict:
            return dict.setdefault(self, key, default)
        _check(self)
        if key not in self:
            self[key] = default
            return default
        return self[key]

    def pop(self, key: Any, default: Any = _NONE) -> Any:
        """Remove `key` and return its value. Raises KeyError where there is none, and no `default`."""
        return dict.pop(self, key) if default is _NONE else dict.pop(self, key, default)

    def popitem(self, last: bool = True) -> tuple[Any, Any]:
        """Remove and return the last (key, value), or the first one. Raises KeyError if there is none."""
        _check(self)
        if not dict.__len__(self):
            raise KeyError("dictionary is empty")
        if last:
            return dict.popitem(self)
        if _is_sparse(dict.__len__(self)):
            _refill(self, dict.copy(self))
        for key in dict.__iter__(self):
            return key, dict.pop(self, key)
        raise KeyError("dictionary is empty")  # a hook of a key emptied it

    def move_to_end(self, key: Any, last: bool = True) -> None:
        """Make `key` the last one, or the first. Raises KeyError where there is none."""
        _check(self)
        if last:
            dict.__setitem__(self, key, dict.pop(self, key))
        else:
            first = {key: dict.__getitem__(self, key)}
            first.update(dict.copy(self))
            _refill(self, first)

    def copy(self) -> Any:
        """A new instance of the same class with the same items."""
        _check(self)
        made = type(self)()
        _fill(made, self, {})
        return made

    def __or__(self, other: Any) -> Any:
        return _joined(type(self), self, other)

    def __ror__(self, other: Any) -> Any:
        return _joined(type(self), other, self)

    def __ior__(self, other: Any) -> Any:
        _fill(self, other, {})
        return self

    def __eq__(self, other: object) -> Any:
        same = dict.__eq__(self, other)
        if same is True and OrderedDict in _order_of(type(other)):
            return all(map(operator.eq, dict.__iter__(self), dict.__iter__(other)))  # type: ignore[arg-type]
        return same

    def __ne__(self, other: object) -> Any:
        same = OrderedDict.__eq__(self, other)
        return same if same is NotImplemented else not same

    __hash__ = None

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        _check(self)
        name = type(self).__name__
        return f"{name}({_SHOWN(self.items())!r})" if dict.__len__(self) else f"{name}()"


def _check(value: Any) -> None:
    """Check self. Functions in Python accept any object as self: `copy(int)` would return `type`. Raises TypeError."""
    if OrderedDict not in _order_of(type(value)):
        raise TypeError(f"methods of OrderedDict take its instances, not a {type(value).__name__}.")


def _fill(self: Any, other: Any, named: dict[str, Any]) -> None:
    if type(self) is OrderedDict:
        dict.update(self, other, **named)
        return
    _check(self)
    if dict in _order_of(type(other)) or hasattr(other, "keys"):
        for key in other.keys():  # noqa: SIM118 - what it iterates over may be something else
            self[key] = other[key]
    else:
        for key, value in other:
            self[key] = value
    for key, value in named.items():
        self[key] = value


def _refill(self: OrderedDict, items: dict[Any, Any]) -> None:
    dict.clear(self)
    dict.update(self, items)


def _joined(kind: type, left: Any, right: Any) -> Any:
    if OrderedDict not in _order_of(kind) or not all(dict in _order_of(type(each)) for each in (left, right)):
        return NotImplemented
    made = kind(left)
    _fill(made, right, {})
    return made


for _method in vars(OrderedDict).values():
    if type(_method) is types.FunctionType:
        _method.__module__ = "collections"


def keep() -> None:
    """Replace the C version by this one in every module that has it. Idempotent."""
    for module in list(sys.modules.values()):
        names = vars(module) if isinstance(module, types.ModuleType) else {}
        for name in [name for name, value in names.items() if value is _C and module is not sys.modules[__name__]]:
            names[name] = OrderedDict
    typing.OrderedDict.__origin__ = OrderedDict  # type: ignore[attr-defined]
    shown = pprint.PrettyPrinter._dispatch  # type: ignore[attr-defined]
    if _C.__repr__ in shown:
        shown[OrderedDict.__repr__] = shown.pop(_C.__repr__)
