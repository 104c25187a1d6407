"""Protects C iterators from re-entry: a cell's operator may call next() on them while they compute an item.

C's accumulate adds to a total without a reference to it, so that `next(it)` inside `__add__` frees the total in use.
zip_longest, chain, islice, cycle and batched release an iterator that has ended while an outer call still runs it;
count returns the same reference twice; groupby and pairwise compare or return objects that the inner call has replaced.
A generator that is called while it runs raises ValueError, before C sees the second call.

compress, dropwhile, filterfalse, starmap, takewhile, map, filter, zip and enumerate never release their iterators
early; tee has its own check; product, permutations, combinations and repeat call no code of a cell.
"""

from __future__ import annotations

import builtins
import contextlib
import csv
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..registry import derives, own_instance
from ..violations import RuleViolation

_PLAIN = (int, float, bool)


def alone(inner: Iterable[Any]) -> Iterator[Any]:
    """The items of `inner`. Calling next() on it while it computes an item raises ValueError."""
    yield from inner


_DELEGATES = (types.GeneratorType, types.CoroutineType)


def thrower(found: Any) -> Any:
    """`found`, an attribute named `throw`; for that of a generator or coroutine, one that calls may_throw first."""
    kind = type(found)
    if derives(kind, types.BuiltinMethodType) and type(found.__self__) in _DELEGATES:

        def bound(*values: Any) -> Any:
            may_throw(found.__self__)
            return found(*values)

        return bound
    if kind is types.MethodDescriptorType and found.__objclass__ in _DELEGATES:

        def unbound(generator: Any, /, *values: Any) -> Any:
            may_throw(generator)
            return found(generator, *values)

        return unbound
    return found


def may_throw(generator: Any) -> None:
    """Raise ValueError if `generator`, or one that it waits for, runs; RuleViolation if that is an object of a cell.

    C code looks up and calls `throw` of what a generator waits for, and takes it off the generator's stack afterwards.
    It does not notice that the method has thrown into the same generator, which has taken it off before.
    """
    while type(generator) in _DELEGATES:
        coroutine = type(generator) is types.CoroutineType
        if generator.cr_running if coroutine else generator.gi_running:
            raise ValueError(f"{'coroutine' if coroutine else 'generator'} already executing")
        generator = generator.cr_await if coroutine else generator.gi_yieldfrom
    if own_instance(generator):
        raise RuleViolation(
            "generator-throw", "throw() does not reach an object of your own class; wait for a generator or coroutine"
        )


_leave: Callable[..., Any] = contextlib._GeneratorContextManager.__exit__


def leave(self: Any, kind: Any, value: Any, traceback: Any) -> Any:
    """`__exit__` of what contextlib.contextmanager makes, which throws into its generator."""
    if kind is not None:
        may_throw(self.gen)
    return _leave(self, kind, value, traceback)


def _guarded(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*values: Any, **options: Any) -> Iterator[Any]:
        return alone(make(*values, **options))

    made.__name__ = made.__qualname__ = make.__name__
    made.__module__, made.__doc__ = "itertools", make.__doc__
    return made


_rows = csv.reader


def reader(lines: Iterable[str], /, *dialect: Any, **options: Any) -> Any:
    """csv.reader. If the lines that it reads ask the C version for a row, it loses its current row."""
    return _rows(lines if type(lines) in (list, tuple) else alone(iter(lines)), *dialect, **options)


class chain:
    """itertools.chain."""

    __slots__ = ()

    def __new__(cls, *iterables: Iterable[Any]) -> Iterator[Any]:  # type: ignore[misc]
        return alone(itertools.chain(*iterables))

    @staticmethod
    def from_iterable(iterable: Iterable[Iterable[Any]], /) -> Iterator[Any]:
        """itertools.chain.from_iterable."""
        return alone(itertools.chain.from_iterable(iterable))


chain.__module__ = "itertools"


def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    """itertools.count."""
    made = itertools.count(start, step)
    return made if type(start) in _PLAIN and type(step) in _PLAIN else alone(made)


def groupby(iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> Iterator[tuple[Any, Iterator[Any]]]:
    """itertools.groupby. The state that it shares with its groups is in Python variables, which are references."""
    return _groups(builtins.iter(iterable), key)


def _groups(items: Iterator[Any], key: Callable[[Any], Any] | None) -> Iterator[tuple[Any, Iterator[Any]]]:
    current: Any
    found: Any
    ended = False

    def group(wanted: Any) -> Iterator[Any]:
        nonlocal current, found, ended
        yield current
        for current in items:
            found = current if key is None else key(current)
            if not (wanted is found or wanted == found):
                return
            yield current
        ended = True

    for current in items:
        found = current if key is None else key(current)
        break
    else:
        return
    while not ended:
        wanted, members = found, group(found)
        yield wanted, members
        for _ in members:  # skip the remaining ones
            pass


_INDEXED: Any = type("_", (), {"__getitem__": lambda _self, at: at})
_SEQUENCE = type(builtins.iter(_INDEXED()))


def iter(value: Any, /, *sentinel: Any) -> Any:  # noqa: A001 - stands in for the builtin
    """The builtin iter. With a sentinel, or over `__getitem__`, C releases its callable when an inner call ends."""
    made = builtins.iter(value, *sentinel)
    return alone(made) if sentinel or type(made) is _SEQUENCE else made


REPLACED: dict[str, Any] = {"chain": chain, "count": count, "groupby": groupby} | {
    name: _guarded(getattr(itertools, name))
    for name in ("accumulate", "batched", "cycle", "islice", "pairwise", "zip_longest")
    if hasattr(itertools, name)  # batched is new in 3.12
}
