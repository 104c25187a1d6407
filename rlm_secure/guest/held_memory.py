"""Methods of bytearray and deque that ask a cell's object nothing while they hold memory that it can let go of.

C looks where the bytes lie, then asks an argument for its `__index__`, `__bytes__` or `__len__`, and goes on reading or
writing there: a hook that empties the bytearray has let go of them. So the arguments are asked first, in Python, and C
gets exact numbers and text, or for `%` a copy. Methods are changed in place, since `super(B, b).find` would reach
past a derived class.

What asks for `__index__` alone, such as `b[i] = x` and `find`, is changed once a cell has an `__index__` of its own:
most never have, and go through their bytes at the speed of C. `index` of a deque compares an item that it does not
hold, up to Python 3.11.8 and 3.12.2 (gh-115243).
"""

from __future__ import annotations

import collections
import ctypes
import gc
import operator
import sys
from collections.abc import Callable
from typing import Any

_order_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], Any] = type.__dict__["__dict__"].__get__

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: Where a class points to its table of C functions, and where in there the function is, in words: Python 3.11 to 3.13.
_CONTAINS, _REMAINDER, _SET_INDEX, _SET_ITEM = (13, 7), (12, 3), (13, 5), (14, 2)
_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes, _modified.restype = [ctypes.py_object], None

_EXACT = frozenset({int, bytes, bytearray, str, tuple, type(None)})


def _derives(value: object, base: type) -> bool:
    return base in _order_of(type(value))


def _number(value: Any) -> Any:
    """`value` as an exact number, where C would ask for its `__index__`."""
    if type(value) in _EXACT or not any("__index__" in _namespace_of(each) for each in _order_of(type(value))):
        return value
    return int.__index__(operator.index(value))


def _sought(value: Any) -> Any:
    """`value` as a number, unless it is bytes: what to look for is one or the other."""
    return value if _derives(value, bytes) or _derives(value, bytearray) else _number(value)


def _text(value: Any) -> Any:
    """`value` as exact text or bytes, where its class derives from one of them."""
    if type(value) in _EXACT:
        return value
    if _derives(value, str):
        return str.__str__(value)
    return bytes.__add__(b"", value) if _derives(value, bytes) else value


def _search(name: str) -> Callable[..., Any]:
    inner = _namespace_of(bytearray)[name]

    def method(self: Any, /, *values: Any) -> Any:
        for value in values:
            if type(value) not in _EXACT:
                values = (_sought(values[0]), *map(_number, values[1:]))
                break
        return inner(self, *values)

    return method


def _with_any_hook() -> dict[str, Callable[..., Any]]:
    to_hex = _namespace_of(bytearray)["hex"]

    def __mod__(self: Any, values: Any, /) -> Any:
        if not _derives(self, bytearray):
            raise TypeError("__mod__ takes a bytearray.")
        return bytearray(bytes.__mod__(bytes.__add__(b"", self), values))

    def __rmod__(self: Any, template: Any, /) -> Any:
        return __mod__(template, self) if _derives(template, bytearray) else NotImplemented

    def hex(self: Any, /, *values: Any, **options: Any) -> Any:  # noqa: A001 - stands in for the method
        return to_hex(self, *map(_text, values), **{name: _text(value) for name, value in options.items()})

    return {"__mod__": __mod__, "__rmod__": __rmod__, "hex": hex}


def _with_numbers() -> dict[str, Callable[..., Any]]:
    contains, set_item, delete_item = (
        _namespace_of(bytearray)[name] for name in ("__contains__", "__setitem__", "__delitem__")
    )

    def place(key: Any) -> Any:
        if type(key) is slice:
            return slice(_number(key.start), _number(key.stop), _number(key.step))
        return _number(key)

    def __contains__(self: Any, value: Any, /) -> Any:
        return contains(self, value if type(value) in _EXACT else _sought(value))

    def __setitem__(self: Any, key: Any, value: Any, /) -> None:
        key = key if type(key) is int else place(key)
        set_item(self, key, value if type(value) is int or type(key) is slice else _number(value))

    def __delitem__(self: Any, key: Any, /) -> None:
        delete_item(self, place(key))

    made = {name: _search(name) for name in ("find", "rfind", "index", "rindex", "count", "startswith", "endswith")}
    return made | {"__contains__": __contains__, "__setitem__": __setitem__, "__delitem__": __delitem__}


_DROPS_ITEMS = sys.version_info < (3, 11, 9) or (3, 12) <= sys.version_info < (3, 12, 3)


def _holding_items() -> dict[str, Callable[..., Any]]:
    items, inner = (_namespace_of(collections.deque)[name] for name in ("__iter__", "index"))

    def index(self: Any, /, *values: Any) -> Any:
        values = (*values[:1], *map(_number, values[1:]))
        _held = tuple(items(self))  # after the last `__index__`, which could put in others, until the last `__eq__`
        return inner(self, *values)

    return {"index": index}


class _Python:
    """Its C functions call what the class has by the name, as those of every class with such methods do."""

    def __contains__(self, value: object) -> bool:
        return False

    def __mod__(self, value: object) -> None: ...

    def __setitem__(self, key: object, value: object) -> None: ...


class _PythonToo:
    def __contains__(self, value: object) -> bool:
        return True

    def __mod__(self, value: object) -> int:
        return 0

    def __setitem__(self, key: object, value: object) -> None: ...


def _slot(kind: type, place: tuple[int, int]) -> Any:
    table = ctypes.c_void_p.from_address(id(kind) + place[0] * _WORD).value
    if not table:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    return ctypes.c_void_p.from_address(table + place[1] * _WORD)


def _change(kind: Any, methods: dict[str, Callable[..., Any]], places: tuple[tuple[int, int], ...] = ()) -> None:
    """Give `kind`, and what derives from it, the `methods`, and the C functions at `places` that call them."""
    table = gc.get_referents(_namespace_of(kind))[0]
    written = [_slot(_Python, place).value for place in places]
    if type(table) is not dict or not all(written) or written != [_slot(_PythonToo, place).value for place in places]:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    for name, method in methods.items():
        method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
        method.__doc__ = table[name].__doc__
        table[name] = method
    for place, function in zip(places, written, strict=True):
        _write(kind, place, _slot(kind, place).value, function)
    _modified(kind)


def _write(kind: type, place: tuple[int, int], old: int, new: int) -> None:
    each: type
    for each in type.__subclasses__(kind):
        _write(each, place, old, new)
    slot = _slot(kind, place)
    if slot.value == old:
        slot.value = new


def _is_changed(kind: type, name: str) -> bool:
    return type(_namespace_of(kind)[name]) is type(_change)


def keep() -> None:
    """Do it. Twice does no harm. Raises ImportError where this interpreter is laid out otherwise."""
    if not _is_changed(bytearray, "hex"):
        _change(bytearray, _with_any_hook(), (_REMAINDER,))
    if _DROPS_ITEMS and not _is_changed(collections.deque, "index"):
        _change(collections.deque, _holding_items())


def keep_from_numbers() -> None:
    """Do it for what asks for `__index__` alone. Twice does no harm."""
    if not _is_changed(bytearray, "find"):
        _change(bytearray, _with_numbers(), (_CONTAINS, _SET_INDEX, _SET_ITEM))
