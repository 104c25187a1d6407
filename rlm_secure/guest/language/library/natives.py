"""What modules written in the Python of cells cannot do themselves: functions that only take and give plain data.

`caller` looks at frames, and only gives line numbers and names of the cell's own.
"""

from __future__ import annotations

import functools
import hmac
import inspect
import ntpath
import struct
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..facades import data
from ..facades.facade import Facade
from ..facades.functions import update_wrapper
from ..facades.system import redirect
from ..facades.traces import frames_in, frames_of
from ..names import WRAPPED, is_private
from ..registry import FILENAME, derives, is_class, is_instance, own_class, own_function, stored

_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__


def caller(level: int = 1) -> tuple[int, str]:
    """Line and function of the `level`th of the cell's own frames, or of the outermost. (0, "") without any."""
    found = (0, "")
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and level > 0:
        if frame.f_code.co_filename == FILENAME:
            found = (frame.f_lineno, frame.f_code.co_name)
            level -= 1
        frame = frame.f_back
    return found


def origin_of(error: Any) -> tuple[Any, bool]:
    """What `error` came from, and whether `raise ... from` said so. (None, False) if a traceback shows none."""
    cause, context = _cause_of(error), _context_of(error)
    if is_instance(cause, Exception):
        return cause, True
    return (context, False) if is_instance(context, Exception) and not _suppressed(error) else (None, False)


def is_coroutine(value: Any) -> bool:
    """Whether `value` is what a call of an `async def` gave."""
    return type(value) is types.CoroutineType


def makes_coroutines(value: Any) -> bool:
    """Whether `value` is an `async def` of a cell."""
    return own_function(value) and inspect.iscoroutinefunction(value)


def wrapper_of(wrapper: Any, wrapped: Any) -> Any:
    """functools.update_wrapper for the instance `wrapper` of a class of this module."""
    return update_wrapper(wrapper, wrapped)


def bound(function: Any, instance: Any, owner: Any) -> Any:
    """The method that reading `function` from `instance` gives, if it is in the namespace of the own class `owner`."""
    if not own_class(owner):
        raise TypeError("a method belongs to a class that was defined in a cell.")
    if type(function) in (types.FunctionType, staticmethod, classmethod):
        return function.__get__(instance, owner)
    return function if instance is None else functools.partial(function, instance)


def first_hint(function: Any) -> Any:
    """The annotation of the first parameter of a cell's `function` that has one; None without any.

    If it is text, as after `from __future__ import annotations`, the class that has this name in the cell.
    """
    if not own_function(function):
        return None
    hints, code = function.__annotations__, function.__code__
    for name in code.co_varnames[: code.co_argcount]:
        if name in hints:
            found = hints[name]
            return _class_called(found, function.__globals__) if type(found) is str else found
    return None


def _class_called(name: str, space: Any) -> Any:
    if name.isidentifier() and not is_private(name):
        for names in (space, vars(space["__builtins__"])):
            if is_class(found := names.get(name)):
                return found
    return name


def kind_of(value: Any) -> str:
    """What sort of object `value` is, by its exact type; "" for most."""
    if is_class(value):
        return "class"
    if derives(type(value), Facade):
        return "module"
    if type(value) is types.FunctionType:
        if inspect.iscoroutinefunction(value):
            return "function of coroutines"
        return "function of generators" if inspect.isgeneratorfunction(value) else "function"
    return _KINDS.get(type(value), "")


_KINDS = {
    types.MethodType: "method", types.BuiltinFunctionType: "builtin", types.GeneratorType: "generator",
    types.CoroutineType: "coroutine",
}  # fmt: skip
_WRAPPERS = 16


def signature_of(value: Any) -> Any:
    """The parameters (name, kind, its default in a tuple) of a cell's function, method or class, and the annotations.

    None for anything else.
    """
    bound = 0
    if own_class(value):
        value, bound = stored(value, "__init__"), 1
    elif type(value) is types.MethodType:
        value, bound = value.__func__, 1
    for _ in range(_WRAPPERS):
        if type(value) is types.FunctionType and WRAPPED in value.__dict__:
            value = value.__dict__[WRAPPED]
    if not own_function(value):
        return None
    code, defaults, by_name = value.__code__, value.__defaults__ or (), value.__kwdefaults__ or {}
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    without = count - len(defaults)
    found: list[Any] = [
        (name, int(at >= code.co_posonlyargcount), defaults[at - without : at - without + 1] if at >= without else ())
        for at, name in enumerate(names[:count])
    ]
    last = count + only
    if code.co_flags & inspect.CO_VARARGS:
        found.append((names[last], 2, ()))
        last += 1
    found += [(name, 3, (by_name[name],) if name in by_name else ()) for name in names[count : count + only]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append((names[last], 4, ()))
    return found[bound:], dict(value.__annotations__)


def _data(function: Callable[..., Any], title: str) -> Any:
    return data.takes_data(function, title=title)


#: The functions of each module, by their names there.
TABLES: Mapping[str, Mapping[str, Any]] = {
    "asyncio": {"is_coroutine": is_coroutine, "makes_coroutines": makes_coroutines},
    "contextlib": {"redirect": redirect},
    "functools": {"wrapper_of": wrapper_of, "first_hint": first_hint, "bound": bound},
    "hmac": {"compare_digest": _data(hmac.compare_digest, "hmac.compare_digest")},
    "inspect": {"kind_of": kind_of, "signature_of": signature_of},
    "logging": {"caller": caller},
    "pathlib": {"windows_drive": _data(ntpath.splitdrive, "pathlib.PureWindowsPath")},
    "struct": {"error": struct.error, **data.functions(struct, "calcsize pack unpack")},
    "traceback": {"frames_in": frames_in, "frames_of": frames_of, "origin_of": origin_of},
    "warnings": {"caller": caller},
}
