"""The current context of decimal, which C only borrows while it computes: gh-148382, on every Python.

A hook that runs meanwhile sets another context, and C goes on with the freed one: the `numerator` of a Rational that a
Decimal is compared with, `__bool__` of a flag that localcontext() is given, a `finally` that the collector runs. So a
context that was current is never freed. localcontext() uses one again that nobody else holds.
"""

from __future__ import annotations

import decimal
import sys
from collections import deque
from typing import Any, NoReturn

_set = decimal.setcontext
_get = decimal.getcontext
_Context = decimal.Context
_copy = _Context.copy

_FIELDS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "flags", "traps")

_kept: deque[decimal.Context] = deque()
_ids: set[int] = set()

_LOOKS = 4  # contexts that localcontext() looks at before it makes another one


def setcontext(context: Any, /) -> None:
    """decimal.setcontext."""
    before = _get()
    if id(before) not in _ids:
        _ids.add(id(before))
        _kept.append(before)
    _set(context)


def _unheld() -> decimal.Context:
    """A kept context that nobody holds, or a new one."""
    for _ in range(min(_LOOKS, len(_kept))):
        found = _kept.popleft()
        if sys.getrefcount(found) == _ALONE:
            _ids.discard(id(found))
            return found
        _kept.append(found)
    return _Context()


def _alone() -> int:
    waiting = deque([_Context()])
    found = waiting.popleft()
    return sys.getrefcount(found)


_ALONE = _alone()


class ContextManager:
    """What localcontext() gives."""

    __slots__ = ("_inner", "_outer")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'decimal.ContextManager' is not an acceptable base type")

    def __enter__(self) -> decimal.Context:
        setcontext(self._inner)
        return self._inner

    def __exit__(self, *_details: object) -> None:
        setcontext(self._outer)

    _inner: decimal.Context
    _outer: decimal.Context


ContextManager.__module__ = "decimal"


def localcontext(ctx: Any = None, **options: Any) -> ContextManager:
    """decimal.localcontext."""
    outer = _get()
    base = outer if ctx is None else ctx
    if type(base) is not _Context:
        base = _copy(base)  # of a derived class, whose properties are not asked; raises TypeError for what is none
    fields = {name: getattr(base, name) for name in _FIELDS}
    for name, value in options.items():
        if name not in fields:
            raise TypeError(f"{name!r} is an invalid keyword argument for this function")
        if value is not None:
            fields[name] = value
    inner = _unheld()
    _Context.__init__(inner, **fields)
    made = object.__new__(ContextManager)
    made._inner, made._outer = inner, outer
    return made


def keep() -> None:
    """Do it, for library code as well. Twice does no harm."""
    decimal.setcontext = setcontext
    decimal.localcontext = localcontext  # type: ignore[assignment]
