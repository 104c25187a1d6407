"""functools.lru_cache and cache in Python, because `==` of a key can make the C version use freed memory.

The C version keeps a list of the last uses beside its dict. If a key calls the cached function again while it is being
compared, list and dict no longer match, and C follows pointers into freed memory. Here a dict by numbers records the
last uses, and only `found` is looked up by key. It is replaced instead of cleared: `dict[key] = value` in C writes into
a table of the wrong kind if `==` of a key has cleared the dict meanwhile (gh-140551).

For programs, the difference is that a call takes a few times as long. In Python 3.13 each call counts twice for the
recursion limit, as with the C version up to Python 3.12.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..names import WRAPPED

_Any = Callable[..., Any]
_Info: Any = functools._CacheInfo
_NONE: Any = object()
_KEYWORDS = object()  # between positional arguments and keywords in a key
_EXACT = (int, str)


def lru_cache(maxsize: int | _Any | None = 128, typed: bool = False) -> Any:
    """functools.lru_cache, for functions and for any other callable."""
    if callable(maxsize) and not isinstance(maxsize, int):
        return _cached(maxsize, 128, typed)
    if maxsize is not None:
        if not isinstance(maxsize, int):
            raise TypeError("functools.lru_cache takes maxsize as an int or None.")
        maxsize = max(int.__index__(maxsize), 0)
    return lambda function: _cached(function, maxsize, typed)


def cache(user_function: _Any, /) -> Any:
    """functools.cache: lru_cache without a bound."""
    return _cached(user_function, None, False)


def _cached(function: _Any, maxsize: int | None, typed: bool) -> Any:
    by_type = bool(typed)
    if maxsize is None:
        made, info, clear = _unbounded(function, by_type)
    elif maxsize:
        made, info, clear = _bounded(function, maxsize, by_type)
    else:
        made, info, clear = _counting(function)

    def cache_info() -> Any:
        """Report cache statistics"""
        hits, misses, size = info()
        return _Info(hits, misses, maxsize, size)

    def cache_clear() -> None:
        """Clear the cache and cache statistics"""
        clear()

    def cache_parameters() -> dict[str, Any]:
        """How the cache was made: maxsize and typed"""
        return {"maxsize": maxsize, "typed": typed}

    if type(function) is FunctionType:
        # It also copies the __dict__, which is only harmless for a plain function.
        functools.update_wrapper(made, function)
        del made.__wrapped__  # type: ignore[attr-defined]
    else:
        made.__name__ = made.__qualname__ = "<lambda>"
    made.__dict__[WRAPPED] = function
    for each in (cache_info, cache_clear, cache_parameters):
        setattr(made, each.__name__, each)
    return made


def _key(values: tuple[Any, ...], options: dict[str, Any], by_type: bool) -> Any:
    """The key for one call: the argument itself if it is the only one and an exact int or str, otherwise a tuple."""
    if not options and not by_type:
        return values[0] if len(values) == 1 and type(values[0]) in _EXACT else values
    key = values
    if options:
        key += (_KEYWORDS,)
        for item in options.items():
            key += item
    if by_type:
        key += (*map(type, values), *map(type, options.values()))
    return key


_Parts = tuple[_Any, Callable[[], tuple[int, int, int]], Callable[[], None]]


def _counting(function: _Any) -> _Parts:
    misses = 0

    def made(*values: Any, **options: Any) -> Any:
        nonlocal misses
        misses += 1
        return function(*values, **options)

    def info() -> tuple[int, int, int]:
        return 0, misses, 0

    def clear() -> None:
        nonlocal misses
        misses = 0

    return made, info, clear


def _unbounded(function: _Any, by_type: bool) -> _Parts:
    found: dict[Any, Any] = {}
    hits = misses = 0

    def made(*values: Any, **options: Any) -> Any:
        nonlocal hits, misses
        key = _key(values, options, by_type)
        value = found.get(key, _NONE)
        if value is not _NONE:
            hits += 1
            return value
        misses += 1
        value = function(*values, **options)
        found[key] = value
        return value

    def info() -> tuple[int, int, int]:
        return hits, misses, len(found)

    def clear() -> None:
        nonlocal found, hits, misses
        found, hits, misses = {}, 0, 0

    return made, info, clear


def _bounded(function: _Any, maxsize: int, by_type: bool) -> _Parts:
    found: dict[Any, list[Any]] = {}  # by key: the number of its last use, and the value
    used: dict[int, Any] = {}  # by number of the last use: the key
    hits = misses = last = oldest = 0

    def made(*values: Any, **options: Any) -> Any:
        nonlocal hits, misses, last
        key = _key(values, options, by_type)
        entry = found.get(key)
        if entry is not None:
            hits += 1
            number = entry[0]
            if number != last:
                kept = used.pop(number, _NONE)
                if kept is not _NONE:  # a hook of a key may have removed it
                    entry[0] = last = last + 1
                    used[last] = kept
            return entry[1]
        misses += 1
        value = function(*values, **options)
        entry = [0, value]
        if found.setdefault(key, entry) is entry:  # unless the call itself has added it
            entry[0] = last = last + 1
            used[last] = key
            if len(used) > maxsize:
                shrink()
        return value

    def shrink() -> None:
        nonlocal oldest, found, used
        while len(used) > maxsize:
            while oldest not in used:
                oldest += 1
            found.pop(used.pop(oldest), None)
        if len(found) > maxsize:  # a key whose hash has changed cannot be found
            found, used = {}, {}

    def info() -> tuple[int, int, int]:
        return hits, misses, len(found)

    def clear() -> None:
        nonlocal found, used, hits, misses
        found, used, hits, misses = {}, {}, 0, 0

    return made, info, clear
