"""Functions that make functions: functools, operator, itertools, contextlib."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..names import WRAPPED
from ..registry import attributes_of, namespace_of, order_of
from . import caches, iterators
from .checks import attribute, own_class, own_function
from .facade import facade
from .generated import keep

_Any = Callable[..., Any]

# ---- functools -------------------------------------------------------------------------------------------------


def update_wrapper(wrapper: Any, wrapped: Any, *_listed: Any, **_options: Any) -> Any:
    """Copy name, docstring, annotations and attributes of `wrapped` onto `wrapper`, a cell's function or instance.

    The original reads and writes attributes by string, on any object: that could copy a function's `__globals__`, or
    pass a frame to a property setter. Anything else than a cell's plain function, or an instance of a class that
    derives from cells' classes only, is returned unchanged.
    """
    kept: dict[str, Any]
    if own_function(wrapper):
        kept = wrapper.__dict__
        kept[WRAPPED] = wrapped
        for name in ("__name__", "__qualname__", "__doc__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                setattr(wrapper, name, value)
        if own_function(wrapped):
            wrapper.__annotations__ = dict(wrapped.__annotations__)
    elif _is_plain(wrapper):
        kept = attributes_of(wrapper)
        kept["__wrapped__"] = wrapped
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            value = getattr(wrapped, name, None)
            if type(value) is str:
                kept[name] = value
    else:
        return wrapper
    if own_function(wrapped):
        copied = wrapped.__dict__.items()
        kept.update((name, value) for name, value in copied if type(name) is str and name != WRAPPED)
    return wrapper


def _is_plain(value: Any) -> bool:
    """Whether `value` is an instance of a cell's class without a library's base, and has a dict of attributes."""
    *own, _ = order_of(type(value))
    return bool(own) and all(map(own_class, own)) and attributes_of(value) is not None


def wraps(wrapped: Any, *_listed: Any, **_options: Any) -> Callable[[Any], Any]:
    """Decorator form of update_wrapper."""
    return lambda wrapper: update_wrapper(wrapper, wrapped)


def total_ordering(cls: type) -> type:
    """functools.total_ordering, for classes that a cell defined, because it sets methods on the class."""
    if not own_class(cls):
        raise TypeError("functools.total_ordering takes a class that was defined in a cell.")
    before = dict(namespace_of(cls))
    functools.total_ordering(cls)
    keep(cls, before)
    return cls


FUNCTOOLS = facade(
    "functools",
    functools,
    # partial: .func is the caller's own function. cached_property: writes one key of the instance it is read from.
    # reduce calls its argument; the getattr that a cell can pass to it is the guarded one.
    take="cached_property cmp_to_key partial reduce",
    own={
        "cache": caches.cache,
        "lru_cache": caches.lru_cache,
        "total_ordering": total_ordering,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    },
    left_out={
        "WRAPPER_ASSIGNMENTS WRAPPER_UPDATES": "wraps copies the name and the docstring, nothing that is listed",
        "GenericAlias RLock get_cache_token recursive_repr": "internal",
        "namedtuple": "import it from collections",
    },
)

# ---- operator --------------------------------------------------------------------------------------------------


#: How they read a public name. Third-party packages replace it by their guard.
read: Callable[[Any, str], Any] = getattr


def attrgetter(attr: str, *attrs: str) -> _Any:
    """operator.attrgetter for attributes that a cell could also read after a dot."""
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
                value = read(value, name)
            values.append(value)
        return values[0] if len(values) == 1 else tuple(values)

    return _caller("attrgetter", get, lambda: ", ".join(repr(".".join(path)) for path in paths))


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> _Any:
    """operator.methodcaller for methods that a cell could also call after a dot."""
    checked = attribute(name, "operator.methodcaller")

    def call(obj: Any) -> Any:
        return read(obj, checked)(*args, **kwargs)

    def shown() -> str:
        return ", ".join([repr(checked), *map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])

    return _caller("methodcaller", call, shown)


def _caller(title: str, call: Callable[[Any], Any], shown: Callable[[], str]) -> _Any:
    """A callable object without attributes.

    The checked names are in closures, because attributes could be set again by a second call of `__init__`. It is not a
    function, because a function that is stored in a class becomes a method.
    """
    namespace = {
        "__slots__": (),
        "__module__": "operator",
        "__call__": lambda _self, obj, /: call(obj),
        "__repr__": lambda _self: f"operator.{title}({shown()})",
    }
    kind: Any = type(title, (), namespace)
    made: _Any = kind()
    return made

OPERATOR = facade(
    "operator",
    operator,
    # C functions that implement operators, all of which a cell may use directly.
    take="abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv "
    "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv ixor le "
    "length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    own={"attrgetter": attrgetter, "methodcaller": methodcaller},
)

# ---- itertools -------------------------------------------------------------------------------------------------

# Iterators over their arguments; iterators.py says why some are not the C versions. An endless one inside sum() ends
# when the cell's wall-clock time is used up.
ITERTOOLS = facade(
    "itertools",
    itertools,
    take="combinations combinations_with_replacement compress dropwhile filterfalse permutations product repeat "
    "starmap takewhile tee",
    own=iterators.REPLACED,
)

# ---- contextlib ------------------------------------------------------------------------------------------------


def contextmanager(func: _Any) -> _Any:
    """contextlib.contextmanager, for plain functions, because it copies attributes of the decorated object."""
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
        "AbstractAsyncContextManager AsyncContextDecorator AsyncExitStack aclosing asynccontextmanager": "there are no "
        "asynchronous generators; write a class with __aenter__ and __aexit__",
        "chdir": "it changes the process's directory",
    },
)
