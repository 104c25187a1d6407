"""Methods that library code generates for a cell's class, kept to instances of that class.

They have no guards: a dataclass's `__init__` sets, and its `__repr__` reads, the attributes that its fields are named
after, on anything that it is given as self. Reading one off the class is only one way to hand it something else:
library code calls `__init__`, `__replace__` and comparisons by itself, on whatever a cell's `__new__` returned. So each
is wrapped where it is stored, as soon as it is made.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from ..registry import namespace_of, order_of, own_function, register, title


def keep(kind: type, before: Mapping[str, Any] | None = None, *, of: Mapping[str, Any] | None = None) -> None:
    """Wrap the functions in the namespace of `kind` that no cell wrote.

    Of a class that existed, only those that are not the same as in `before`, its namespace as it was; with `of`, only
    functions whose globals are these.
    """
    found: Iterable[tuple[str, Any]] = list(namespace_of(kind).items())
    for name, value in found:
        if type(value) is not FunctionType or own_function(value) or (before and before.get(name) is value):
            continue
        if of is None or value.__globals__ is of:
            type.__setattr__(kind, name, kept(value, kind))


def record(made: type) -> type:
    """`made`, a new class of collections.namedtuple, as a cell's own."""
    register(made)
    keep(made, of=vars(collections))
    return made


def kept(inner: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """`inner`, for exact instances of `kind` and of classes derived from it."""

    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        if type(self) is not kind and kind not in order_of(type(self)):
            raise TypeError(f"{inner.__name__} of {title(kind)} takes its instances, not a {title(type(self))}.")
        return inner(self, *values, **options)

    method.__name__, method.__qualname__, method.__doc__ = inner.__name__, inner.__qualname__, inner.__doc__
    method.__annotations__ = inner.__annotations__
    return method
