"""functools.singledispatch, singledispatchmethod and partialmethod."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from functools import partial
from typing import Any

# Bound by the loader.
wrapper_of: Callable[[Any, Any], Any]
first_hint: Callable[[Any], Any]
bound: Callable[[Any, Any, Any], Any]


def _is_union(kind: Any) -> bool:
    return isinstance(kind, types.UnionType)


def _is_class(kind: Any) -> bool:
    try:
        return issubclass(kind, object)
    except TypeError:
        return False


class singledispatch:
    def __init__(self, func: Any) -> None:
        if not callable(func) and not isinstance(func, classmethod | staticmethod):
            raise TypeError(f"{func!r} is not callable")
        self._functions = {object: func}
        wrapper_of(self, func)

    @property
    def registry(self) -> Any:
        return types.MappingProxyType(dict(self._functions))

    def register(self, cls: Any, func: Any = None) -> Any:
        if _is_class(cls) or _is_union(cls):
            if func is None:
                return partial(self.register, cls)
        else:
            if func is not None:
                raise TypeError(f"Invalid first argument to `register()`. {cls!r} is not a class or union type.")
            func, cls = cls, first_hint(cls)
            if cls is None:
                raise TypeError(
                    f"Invalid first argument to `register()`: {func!r}. Use either `@register(some_class)` or plain "
                    "`@register` on an annotated function."
                )
            if not _is_class(cls) and not _is_union(cls):
                raise TypeError(f"Invalid annotation. {cls!r} is not a class.")
        for each in typing.get_args(cls) if _is_union(cls) else (cls,):
            self._functions[each] = func
        return func

    def dispatch(self, cls: Any) -> Any:
        for each in cls.__mro__[:-1]:
            if each in self._functions:
                return self._functions[each]
        found: Any = object
        for each in self._functions:
            if issubclass(cls, each) and issubclass(each, found):
                found = each
        return self._functions[found]

    def __call__(self, *args: Any, **kw: Any) -> Any:
        if not args:
            name = getattr(self, "__name__", "singledispatch function")
            raise TypeError(f"{name} requires at least 1 positional argument")
        return self.dispatch(type(args[0]))(*args, **kw)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)


class singledispatchmethod:
    def __init__(self, func: Any) -> None:
        self.dispatcher = singledispatch(func)
        self.func = func

    def register(self, cls: Any, method: Any = None) -> Any:
        return self.dispatcher.register(cls, func=method)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return _Method(self.dispatcher, instance, owner)


class _Method:
    def __init__(self, dispatcher: Any, instance: Any, owner: Any) -> None:
        self._dispatcher, self._instance, self._owner = dispatcher, instance, owner
        self.register = dispatcher.register
        wrapper_of(self, dispatcher)

    def __call__(self, *args: Any, **kw: Any) -> Any:
        found = self._dispatcher.dispatch(type(args[0]))
        return bound(found, self._instance, self._owner)(*args, **kw)


class partialmethod:
    def __init__(self, func: Any, /, *args: Any, **keywords: Any) -> None:
        self.func, self.args, self.keywords = func, args, keywords

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return partial(self.func, *self.args, **self.keywords)
        return partial(bound(self.func, instance, owner), *self.args, **self.keywords)
