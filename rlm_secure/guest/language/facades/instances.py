"""Restricts library methods to instances of their own class.

Library code has no guards, and the methods of a class are plain functions: `Counter.copy(x)` runs on any `x`, although
it was written for a Counter. Most methods then only fail. Those listed here do not, so each checks its `self` first,
by the exact mro of its type, because an ABC accepts any class that a cell registers with it. They are changed in
place, because super(Counter, Counter).copy would bypass a derived class. Correct calls behave as before.
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
from .traces import Traceback

# They call self.__class__(...), which is `type` if self is a class. Counter.copy(int) returned `type` itself, and
# ChainMap.new_child(C, "X") created a class from the contents of C.maps.
_MAKE = (
    (collections.Counter, "copy"),
    (collections.ChainMap, "copy"),
    (collections.ChainMap, "__copy__"),
    (collections.ChainMap, "new_child"),
    (collections.ChainMap, "parents"),
)
# They set attributes with fixed names, also on objects and classes that no cell may change.
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
# They return the value of a slot. For a class that is the slot descriptor itself, with which a cell could set the slot.
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
    """Apply all changes. Idempotent."""
    typing._BaseGenericAlias.__call__ = _make  # type: ignore[attr-defined]
    _keep_aliases()
    # They set and delete attributes of own classes. A NamedTuple gets its methods one by one; since Python 3.13, each
    # is set after the hooks of the earlier ones have run.
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
    """An empty mapping that cannot be changed. For read-only views: `view == x` passes the mapping itself to x."""

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
    """Keep values alive that Protocol overwrites on a class, until it is done: typing assigns without our `store`.

    A cell can call it again at any time, by super().__init_subclass__().
    """
    protocol: Any = typing.Protocol
    inner = namespace_of(protocol)["__init_subclass__"].__func__

    def __init_subclass__(cls: Any, *values: Any, **options: Any) -> None:
        _before = dict(namespace_of(cls))
        inner(cls, *values, **options)

    protocol.__init_subclass__ = classmethod(__init_subclass__)


def _keep_replace() -> None:
    """Restrict `date.replace`: it makes an object of its self's type with the memory of a date, which is too small for
    a datetime.
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
    """Have `ctime` check the date first: for an impossible date, C reads before the start of the table of weekdays.

    `date(b"...")` creates such dates from the state of a pickle, of which C only checks the month. Derived classes and
    copy can do the same. All other look-ups of C for a date use the month.
    """
    for kind, names in (
        (datetime.date, ("year", "month", "day")),
        (datetime.datetime, ("year", "month", "day", "hour", "minute", "second", "microsecond")),
    ):
        _store(kind, "ctime", *_checked_ctime(kind, [namespace_of(_owner(kind, name))[name].__get__ for name in names]))


def _keep_tracebacks() -> None:
    """Refuse to change the traceback of a MemoryError: the worker uses it to tell whether memory really ran out."""
    inner = BaseException.with_traceback

    def with_traceback(self: Any, tb: Any, /) -> Any:
        if type(self) is MemoryError and tb is not None:
            raise TypeError("a MemoryError keeps its own traceback; raise another exception.")
        return inner(self, None if type(tb) is Traceback else tb)

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
    """Replace `inner` by `method` in a built-in class, which allows no assignment: its namespace is reached by way of
    the garbage collector.
    """
    method.__name__, method.__qualname__, method.__doc__ = name, f"{kind.__name__}.{name}", inner.__doc__
    (namespace,) = (each for each in gc.get_referents(namespace_of(kind)) if type(each) is dict)
    namespace[name] = method
    sys._clear_type_cache()
    if getattr(kind, name) is not method:
        raise ImportError(f"this Python keeps {kind.__name__}.{name} somewhere else; use an older one.")


def _keep_aliases() -> None:
    """Have typing's aliases only forward attributes of classes, not of other origins.

    `Annotated[error, 0]` takes any object, and a guard that checks the owner of an attribute would check the alias.
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
    """The implementation of `Stack[int]()`: the original sets an attribute on any object that the class returned."""
    if not alias._inst:
        raise TypeError(f"Type {alias._name} cannot be instantiated; use {alias.__origin__.__name__}() instead")
    made = alias.__origin__(*values, **options)
    if own_instance(made):
        with contextlib.suppress(Exception):  # a class of the cell's may refuse attributes
            made.__orig_class__ = alias
    return made
