"""Keeps contexts of decimal alive: C uses the current one without a reference (gh-148382, in every Python).

A hook that runs during a computation can set another context, and C then uses the freed one. Such hooks are the
`numerator` of a Rational that is compared with a Decimal, `__bool__` of a flag passed to localcontext(), or a `finally`
that the garbage collector runs. So a context that was current is never freed. localcontext() reuses contexts to which
nothing else refers.
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
    """Two functions for contexts that no name leads to: one keeps a context forever, the other returns a kept one that
    nothing else refers to, or a new one. It stays kept, because C may still use it.
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
    """The context manager that localcontext() returns."""

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
    """Replace the functions of decimal, for library code as well. Idempotent."""
    decimal.setcontext = setcontext
    decimal.localcontext = localcontext  # type: ignore[assignment]
