"""The current context of decimal, which C only borrows while it computes: gh-148382, on every Python.

A hook that runs meanwhile sets another context, and C goes on with the freed one: the `numerator` of a Rational that a
Decimal is compared with, `__bool__` of a flag that localcontext() is given, a `finally` that the collector runs. So a
context that was current is never freed. localcontext() uses one again that nobody else holds.
"""

from __future__ import annotations

import decimal
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

_set = decimal.setcontext
_get = decimal.getcontext
_Context = decimal.Context
_copy = _Context.copy

_FIELDS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp", "flags", "traps")

_LOOKS = 4  # contexts that localcontext() looks at before it makes another one


def _store() -> tuple[Callable[[decimal.Context], None], Callable[[], decimal.Context]]:
    """Two functions around contexts that no name leads to: one keeps a context for good, the other one hands out one of
    them that nobody else holds, or a new one. C may go on with it: it stays kept.
    """
    kept: deque[decimal.Context] = deque([_Context()])
    ids: set[int] = set(map(id, kept))
    found = kept[0]
    alone = sys.getrefcount(found)

    def hold(context: decimal.Context) -> None:
        if id(context) not in ids:
            kept.append(context)
            ids.add(id(context))

    def unheld() -> decimal.Context:
        for _ in range(min(_LOOKS, len(kept))):
            found = kept[0]
            kept.rotate(-1)
            if sys.getrefcount(found) == alone:
                return found
        return _Context()

    return hold, unheld


_hold, _unheld = _store()


def setcontext(context: Any, /) -> None:
    """decimal.setcontext."""
    _hold(_get())
    _set(context)


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
