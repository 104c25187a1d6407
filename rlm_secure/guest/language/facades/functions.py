"""Functions that make functions: functools, operator, itertools, contextlib."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..registry import namespace_of
from . import caches, iterators
from .checks import attribute, own_class, own_function
from .facade import facade
from .generated import keep

_Any = Callable[..., Any]

# ---- functools -------------------------------------------------------------------------------------------------


def update_wrapper(wrapper: Any, wrapped: Any) -> Any:
    """Copy `__name__` and `__doc__` of `wrapped` onto `wrapper`, when that is a function that a cell defined.

    The original reads and writes attributes by string, on any object: that copies a function's `__globals__` or
    hands a frame to a property setter. Anything but a cell's plain function comes back as it is.
    """
    if own_function(wrapper):
        for name in ("__name__", "__qualname__", "__doc__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                setattr(wrapper, name, value)
    return wrapper


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """Decorator form of update_wrapper."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def total_ordering(cls: type) -> type:
    """functools.total_ordering, on classes that a cell defined: it sets methods on the class that it is given."""
    if not own_class(cls):
        raise TypeError("functools.total_ordering takes a class that was defined in a cell.")
    before = dict(namespace_of(cls))
    functools.total_ordering(cls)
    keep(cls, before)
    return cls


FUNCTOOLS = facade(
    "functools",
    functools,
    # partial: .func is what the caller put in. cached_property: writes one key of the instance it is read from.
    # reduce calls what it is given; a getattr handed to it is the guarded one.
    take="cached_property cmp_to_key partial reduce",
    own={
        "cache": caches.cache,
        "lru_cache": caches.lru_cache,
        "total_ordering": total_ordering,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    },
    left_out={
        "singledispatch singledispatchmethod": "register() evaluates string annotations; use a dict of types",
        "partialmethod": "it writes attributes on what it is given; use a def",
        "WRAPPER_ASSIGNMENTS WRAPPER_UPDATES": "wraps copies the name and the docstring, nothing that is listed",
        "GenericAlias RLock get_cache_token recursive_repr": "internal",
        "namedtuple": "import it from collections",
    },
)

# ---- operator --------------------------------------------------------------------------------------------------


def attrgetter(attr: str, *attrs: str) -> _Any:
    """operator.attrgetter over attributes that a cell could read by writing them out."""
    checked = []
    for path in (attr, *attrs):
        if type(path) is not str:
            raise TypeError(f"operator.attrgetter takes names as plain str, not {type(path).__name__}.")
        checked.append(tuple(attribute(part, "operator.attrgetter") for part in path.split(".")))
    paths = tuple(checked)

    def get(obj: Any) -> Any:
        values = []
        for path in paths:
            value = obj
            for name in path:
                value = getattr(value, name)
            values.append(value)
        return values[0] if len(values) == 1 else tuple(values)

    return _caller("attrgetter", get, lambda: ", ".join(repr(".".join(path)) for path in paths))


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> _Any:
    """operator.methodcaller over methods that a cell could call by writing them out."""
    checked = attribute(name, "operator.methodcaller")

    def call(obj: Any) -> Any:
        return getattr(obj, checked)(*args, **kwargs)

    def shown() -> str:
        return ", ".join([repr(checked), *map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])

    return _caller("methodcaller", call, shown)


def _caller(title: str, call: Callable[[Any], Any], shown: Callable[[], str]) -> _Any:
    """An object that can be called, and keeps nothing in itself.

    What was checked stays in closures: an attribute of an object can be written again, by an `__init__` called a
    second time. No function either, since one that a class holds becomes a method.
    """
    namespace = {
        "__slots__": (),
        "__module__": "operator",
        "__call__": lambda _self, obj, /: call(obj),
        "__repr__": lambda _self: f"operator.{title}({shown()})",
    }
    made: _Any = type(title, (), namespace)()
    return made

OPERATOR = facade(
    "operator",
    operator,
    # C functions that do what the operators do; a cell may write every one of them out.
    take="abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv "
    "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le "
    "length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    own={"attrgetter": attrgetter, "methodcaller": methodcaller},
)

# ---- itertools -------------------------------------------------------------------------------------------------

# Iterators over what they are given; iterators.py says why some are not C's. An endless one inside sum() ends with the
# wall clock.
ITERTOOLS = facade(
    "itertools",
    itertools,
    take="combinations combinations_with_replacement compress dropwhile filterfalse permutations product repeat "
    "starmap takewhile tee",
    own=iterators.REPLACED,
)

# ---- contextlib ------------------------------------------------------------------------------------------------


def contextmanager(func: _Any) -> _Any:
    """contextlib.contextmanager, on plain functions: it copies attributes of what it decorates."""
    if type(func) is not FunctionType:
        raise TypeError("contextlib.contextmanager decorates a generator function written with def.")
    return contextlib.contextmanager(func)


CONTEXTLIB = facade(
    "contextlib",
    contextlib,
    # ExitStack and ContextDecorator call what they are given; none of them reads an attribute by a caller's string.
    take="AbstractContextManager ContextDecorator ExitStack closing nullcontext suppress",
    own={"contextmanager": contextmanager},
    left_out={
        "AbstractAsyncContextManager AsyncContextDecorator AsyncExitStack aclosing asynccontextmanager": "cells run "
        "no event loop",
        "chdir": "it changes the process's directory",
        "redirect_stdout redirect_stderr": "they replace the worker's own streams; pass file=io.StringIO() to print",
    },
)
