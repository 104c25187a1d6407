"""Library methods kept to their own instances.

Library code has no guards, and Python hands out a class's methods as plain functions: `Counter.copy(x)` does to any
`x` what was written for a Counter. Most of them only fail. Those listed here do not, so each gets a look at its
`self` first: at the exact classes of its type, since an ABC takes any class that a cell registers with it. They are
changed in place, since super(Counter, Counter).copy would reach past a derived class; this process runs nothing but
cells, and no correct call notices.
"""

from __future__ import annotations

import calendar
import collections
import contextlib
import csv
import dataclasses
import datetime
import enum
import fractions
import functools
import gc
import inspect
import ipaddress
import random
import statistics
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from ..names import is_dunder
from ..registry import is_class, is_instance, namespace_of, order_of, own_instance, store, title
from .generated import kept

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
    (random.Random, "gauss"),
    (random.Random, "seed"),
    (random.Random, "setstate"),
)
# They hand out what a slot keeps: of a class, the slot itself, by which an own class would put anything into it.
_READ = (
    (fractions.Fraction, "as_integer_ratio"),
    (fractions.Fraction, "numerator"),
    (fractions.Fraction, "denominator"),
    (ipaddress.IPv6Address, "scope_id"),
    (statistics.NormalDist, "mean"),
    (statistics.NormalDist, "median"),
    (statistics.NormalDist, "mode"),
    (statistics.NormalDist, "stdev"),
)


def keep() -> None:
    """Do it. Twice does no harm."""
    typing._BaseGenericAlias.__call__ = _make  # type: ignore[attr-defined]
    _keep_aliases()
    # They set and delete attributes of own classes. A NamedTuple gets its methods one by one: from Python 3.13 on, each
    # after the hooks of those before.
    for module in (dataclasses, enum, functools, typing):
        module.setattr = module.delattr = store  # type: ignore[attr-defined]
    dataclasses._EMPTY_METADATA = types.MappingProxyType(Nothing())  # type: ignore[attr-defined]
    _keep_protocols()
    _keep_replace()
    _keep_ctime()
    _keep_tracebacks()
    for owner, name in _MAKE + _WRITE + _READ:
        stored = inspect.getattr_static(owner, name)
        if isinstance(stored, property):
            fget, fset, fdel = (part and kept(part, owner) for part in (stored.fget, stored.fset, stored.fdel))
            setattr(owner, name, property(fget, fset, fdel, stored.__doc__))
        else:
            setattr(owner, name, kept(stored, owner))


class Nothing(Mapping[str, Any]):
    """An empty mapping that nobody can fill, for a view to show: `view == x` asks x, with what the view is of."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


def _keep_protocols() -> None:
    """What Protocol writes over on a class lives until that is done: typing writes by statements, and so past `store`.

    A cell calls it again whenever it likes, by super().__init_subclass__().
    """
    protocol: Any = typing.Protocol
    inner = namespace_of(protocol)["__init_subclass__"].__func__

    def __init_subclass__(cls: Any, *values: Any, **options: Any) -> None:
        _before = dict(namespace_of(cls))
        inner(cls, *values, **options)

    protocol.__init_subclass__ = classmethod(__init_subclass__)


def _keep_replace() -> None:
    """`date.replace` makes an object of the type of its self, with a date's memory: a datetime reads past its end.

    """
    inner, same = datetime.date.replace, object()

    def replace(self: Any, year: Any = same, month: Any = same, day: Any = same) -> Any:
        if type(self) is not datetime.date and (
            is_instance(self, datetime.datetime) or not is_instance(self, datetime.date)
        ):
            raise TypeError(f"replace of date takes a date, not a {title(type(self))}.")
        return inner(
            self,
            self.year if year is same else year,
            self.month if month is same else month,
            self.day if day is same else day,
        )

    _store(datetime.date, "replace", replace, inner)


def _keep_ctime() -> None:
    """`ctime` of a date that no calendar has looks up the name of its weekday before the beginning of a table.

    Such a date is what `date(b"...")` makes, of the state of a pickle, of which C checks the month alone. A derived
    class, and copy, make one by the same call. Everything else that C looks up for a date goes by the month.
    """
    for kind, names in (
        (datetime.date, ("year", "month", "day")),
        (datetime.datetime, ("year", "month", "day", "hour", "minute", "second", "microsecond")),
    ):
        _store(kind, "ctime", *_checked_ctime(kind, [namespace_of(_owner(kind, name))[name].__get__ for name in names]))


def _keep_tracebacks() -> None:
    """A MemoryError has no traceback but its own: by that one the worker tells whether memory was short."""
    inner = BaseException.with_traceback

    def with_traceback(self: Any, tb: Any, /) -> Any:
        if type(self) is MemoryError and tb is not None:
            raise TypeError("a MemoryError keeps its own traceback; raise another exception.")
        return inner(self, tb)

    _store(BaseException, "with_traceback", with_traceback, inner)


def _owner(kind: type, name: str) -> type:
    return next(each for each in order_of(kind) if name in namespace_of(each))


def _checked_ctime(kind: Any, parts: list[Any]) -> tuple[Any, Any]:
    inner = kind.ctime

    def ctime(self: Any) -> str:
        # Made of its numbers, which are then checked. Raises ValueError.
        text: str = inner(kind(*(part(self) for part in parts)))
        return text

    return ctime, inner


def _store(kind: type, name: str, method: Any, inner: Any) -> None:
    """Put `method` in the place of `inner`, in a class of C code, which takes no attributes: its namespace is reached
    as the collector of garbage reaches it.
    """
    method.__name__, method.__qualname__, method.__doc__ = name, f"{kind.__name__}.{name}", inner.__doc__
    (namespace,) = (each for each in gc.get_referents(namespace_of(kind)) if type(each) is dict)
    namespace[name] = method
    sys._clear_type_cache()
    if getattr(kind, name) is not method:
        raise ImportError(f"this Python keeps {kind.__name__}.{name} somewhere else; use an older one.")


def _keep_aliases() -> None:
    """Have typing's aliases pass on the attributes of classes, and of no other origin.

    `Annotated[error, 0]` takes any object. A guard that looks at whose attribute it is would look at the alias.
    """
    kind = typing._BaseGenericAlias  # type: ignore[attr-defined]
    inner = kind.__getattr__

    def __getattr__(self: Any, name: str) -> Any:
        origin = self.__dict__.get("__origin__")
        alias = type(origin) is types.GenericAlias or is_instance(origin, typing._BaseGenericAlias)  # type: ignore[attr-defined]
        if is_class(origin) or alias or is_dunder(name):
            return inner(self, name)
        raise AttributeError(f"an alias of what is no class has no attribute {name!r}")

    kind.__getattr__ = __getattr__


def _make(alias: Any, *values: Any, **options: Any) -> Any:
    """What `Stack[int]()` does: the original leaves the alias on whatever the class made."""
    if not alias._inst:
        raise TypeError(f"Type {alias._name} cannot be instantiated; use {alias.__origin__.__name__}() instead")
    made = alias.__origin__(*values, **options)
    if own_instance(made):
        with contextlib.suppress(Exception):  # a class of the cell's may refuse attributes
            made.__orig_class__ = alias
    return made
