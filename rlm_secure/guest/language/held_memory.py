"""Changes C methods that call a hook of a cell's object while they use memory which that hook can free.

C looks up the address of the bytes, then calls `__index__`, `__bytes__` or `__len__` of an argument, and then reads or
writes at that address. A hook that empties the bytearray has freed it. So the arguments are converted first, in Python,
and C gets exact numbers and text, or for `%` a copy. Methods are changed in place, because `super(B, b).find` would
bypass a derived class.

`index` of a deque compares an item without a reference to it, up to Python 3.11.8 and 3.12.2 (gh-115243).

Lists, namespaces, exceptions and partials can change while their repr is built, and C has no references to the parts:
their repr uses a copy, or keeps references. Other types that print several fields without a reference to themselves,
such as slice, are then kept alive by their container. For the same reason, a defaultdict keeps its factory alive while
it calls it.

`__init__` of a UnicodeError stores its arguments in the error, calls `__index__` of `start` and `end`, and only then
takes references to the stored objects: a hook that sets another `object` would release one without a reference.

An alias such as `list[x]`, when it is subscripted, calls a method of each argument for its replacement, and uses the
result as a tuple without a check. So its arguments, and the values for them, must be types or objects of typing.

A TypeVar whose name is passed as a keyword is built from unrelated data on C's stack, in Python 3.12.0 to 3.12.5
(gh-118814).

`reversed` of a dict stores a position in its table, and reads there even after the table has become smaller
(gh-154709): so it uses a copy.
"""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import operator
import pprint
import sys
import threading
import types
import typing
from collections.abc import Callable
from typing import Any

_order_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], Any] = type.__dict__["__dict__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE, since Python 3.10

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: Offset of a class's table of C functions, and of the function in it, in words: for Python 3.11 to 3.13.
_CONTAINS, _REMAINDER, _SET_INDEX, _SET_ITEM, _ITEM = (13, 7), (12, 3), (13, 5), (14, 2), (14, 1)
_REPR, _STR, _INIT, _NEW = (0, 11), (0, 17), (0, 37), (0, 39)  # in the class itself
_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes, _modified.restype = [ctypes.py_object], None

_EXACT = frozenset({int, bytes, bytearray, str, tuple, type(None)})


def _derives(value: object, base: type) -> bool:
    return base in _order_of(type(value))


def _number(value: Any) -> Any:
    """`value` as an exact number, unless C calls no method of it. A cell's class may get an `__index__` at any time."""
    kind = type(value)
    if kind in _EXACT or (_flags_of(kind) & _IMMUTABLE and not _has_index(kind)):
        return value
    return int.__index__(operator.index(value))


def _has_index(kind: type) -> bool:
    return any("__index__" in _namespace_of(each) for each in _order_of(kind))


def _sought(value: Any) -> Any:
    """`value` as a number, or unchanged if it is bytes or several values: a search takes either."""
    if type(value) in _EXACT:
        return value
    if _derives(value, bytes) or _derives(value, bytearray):
        return bytes.__add__(b"", value)
    return tuple(tuple.__iter__(value)) if _derives(value, tuple) else _number(value)


def _text(value: Any) -> Any:
    """`value` as exact text or bytes, if its class derives from one of them."""
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

    join_items = _namespace_of(bytearray)["join"]

    def join(self: Any, items: Any, /) -> Any:  # before Python 3.11.7, C borrows the separator while it asks for items
        if type(items) is not list and type(items) is not tuple:
            items = tuple(items)
        return join_items(self, items)

    def hex(self: Any, /, *values: Any, **options: Any) -> Any:  # noqa: A001 - stands in for the method
        return to_hex(self, *map(_text, values), **{name: _text(value) for name, value in options.items()})

    extend_by = _namespace_of(bytearray)["extend"]

    def extend(self: Any, items: Any, /) -> None:  # where the items say that there are none, C has no memory for them
        if type(items) not in (list, tuple) and not any(_derives(items, base) for base in (bytes, bytearray, str)):
            items = (each for each in items)
        extend_by(self, items)

    return {"__mod__": __mod__, "__rmod__": __rmod__, "join": join, "hex": hex, "extend": extend}


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


#: The objects whose repr is being built, with the thread: as in C, an object inside itself is printed as dots.
_running: set[tuple[int, int]] = set()


def _shown_once(inside_itself: Callable[[Any], str], show: Callable[[Any], str]) -> Callable[[Any], str]:
    def __repr__(self: Any, /) -> str:
        key = id(self), threading.get_ident()
        if key in _running:
            return inside_itself(self)
        try:
            _running.add(key)
            return show(self)
        finally:
            _running.discard(key)

    return __repr__


def _list_repr() -> Callable[[Any], str]:
    inner, copied = (_namespace_of(list)[name] for name in ("__repr__", "copy"))
    thread, running = threading.get_ident, _running

    def __repr__(self: Any, /) -> str:  # as `_shown_once` does it, in half the time and depth
        key = id(self), thread()
        if key in running:
            return "[...]"
        try:
            running.add(key)
            return inner(copied(self) if type(self) is list or _derives(self, list) else self)  # type: ignore[no-any-return]
        finally:
            running.discard(key)

    return __repr__


def _namespace_repr() -> Callable[[Any], str]:
    inner = _namespace_of(types.SimpleNamespace)["__repr__"]
    values_of = _namespace_of(types.SimpleNamespace)["__dict__"].__get__

    def name(self: Any) -> str:
        return "namespace" if type(self) is types.SimpleNamespace else _name_of(type(self))

    def show(self: Any) -> str:
        if not _derives(self, types.SimpleNamespace):
            return inner(self)  # type: ignore[no-any-return]  # raises TypeError
        values = dict.copy(values_of(self))
        named = [each for each in values.items() if _derives(each[0], str) and str.__len__(each[0])]
        texts = ["".join((key, "=", repr(value))) for key, value in named]
        return f"{name(self)}({', '.join(texts)})"

    return _shown_once(lambda self: f"{name(self)}(...)", show)


def _partial_repr() -> Callable[[Any], str]:
    inner, fill = (_namespace_of(functools.partial)[name] for name in ("__repr__", "__setstate__"))
    fields = [_namespace_of(functools.partial)[name].__get__ for name in ("func", "args", "keywords")]

    def show(self: Any) -> str:
        if not _derives(self, functools.partial):
            return inner(self)  # type: ignore[no-any-return]  # raises TypeError
        function, values, keywords = (get(self) for get in fields)
        copied = functools.partial.__new__(type(self), function)
        fill(copied, (function, values, dict.copy(keywords), None))
        return inner(copied)  # type: ignore[no-any-return]

    return _shown_once(lambda _: "...", show)


def _alias_repr() -> Callable[[Any], str]:
    inner = _namespace_of(types.GenericAlias)["__repr__"]
    origin, arguments, unpacked = (
        _namespace_of(types.GenericAlias)[name].__get__ for name in ("__origin__", "__args__", "__unpacked__")
    )
    unpack = _namespace_of(types.GenericAlias)["__iter__"]

    def __repr__(self: Any, /) -> str:
        if _derives(self, types.GenericAlias) and any(_derives(each, list) for each in arguments(self)):
            values = tuple(list.copy(each) if _derives(each, list) else each for each in arguments(self))
            copied = types.GenericAlias(origin(self), values)
            self = next(unpack(copied)) if unpacked(self) else copied
        return inner(self)  # type: ignore[no-any-return]

    return __repr__


#: Types whose objects have no hooks that C calls, or only those of typing.
_TYPES = frozenset(
    {str, bytes, int, bool, type(None), type(...), types.GenericAlias, types.UnionType, type(Callable[[], int])}
    | {kind for kind in vars(typing).values() if _derives(kind, type) and kind.__module__ == "typing"}
)
_PARAMETERS = frozenset({typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple})


def _only_types(values: Any) -> tuple[Any, ...]:
    """`values`, with copies of the lists among them. Raises TypeError for objects that may have hooks of a cell."""
    found = []
    for value in values:
        kind = type(value)
        if kind is list or kind is tuple:
            found.append(kind(_only_types(tuple(value))))
        elif kind in _TYPES or _derives(value, type):
            found.append(value)
        else:
            raise TypeError(f"a generic alias with parameters takes types, not a {_name_of(kind)[:60]}.")
    return tuple(found)


def _alias_item() -> Callable[..., Any]:
    inner = _namespace_of(types.GenericAlias)["__getitem__"]
    origin, arguments, parameters = (
        _namespace_of(types.GenericAlias)[name].__get__ for name in ("__origin__", "__args__", "__parameters__")
    )
    unpacked, unpack = (_namespace_of(types.GenericAlias)[name] for name in ("__unpacked__", "__iter__"))

    # With *values: Python 3.11 makes an instruction of a plain __getitem__, which takes the class for one of Python.
    def __getitem__(self: Any, /, *values: Any) -> Any:
        if not _derives(self, types.GenericAlias) or len(values) != 1:
            return inner(self, *values)  # raises TypeError
        exact = types.GenericAlias(origin(self), _only_types(arguments(self)))
        if not all(type(each) in _PARAMETERS for each in parameters(exact)):
            raise TypeError("the parameters of a generic alias are a TypeVar, a ParamSpec or a TypeVarTuple.")
        given = values[0] if type(values[0]) is tuple else values
        return inner(next(unpack(exact)) if unpacked.__get__(self) else exact, _only_types(given))

    return __getitem__


def _holding(kind: Any, method: str, *fields: str) -> Callable[..., Any]:
    """The method of `kind`, changed to keep the values of these fields alive until it returns."""
    inner = _namespace_of(kind)[method]
    found = {name: each for base in reversed(_order_of(kind)) for name, each in _namespace_of(base).items()}
    getters = [found[name].__get__ for name in fields]

    def holding(self: Any, /, *values: Any) -> Any:
        _held = [get(self) for get in getters] if _derives(self, kind) else None
        return inner(self, *values)

    return holding


def _reversed_copy(kind: Any) -> Callable[..., Any]:
    items = _namespace_of(kind)["__iter__"]

    def __reversed__(self: Any, /) -> Any:
        return reversed([*items(self)])

    return __reversed__


_REVERSIBLE: tuple[type, ...] = (dict, type({}.keys()), type({}.values()), type({}.items()))

#: The positions of the numbers among the arguments.
_UNICODE_ERRORS = {UnicodeDecodeError: (2, 3), UnicodeEncodeError: (2, 3), UnicodeTranslateError: (1, 2)}


def _asking_first(kind: Any, places: tuple[int, ...]) -> Callable[..., None]:
    inner = _namespace_of(kind)["__init__"]

    def __init__(self: Any, /, *values: Any, **options: Any) -> None:
        inner(self, *[_number(value) if at in places else value for at, value in enumerate(values)], **options)

    return __init__


_FIELDS = {
    BaseException: (), AttributeError: (), BaseExceptionGroup: (), KeyError: (), NameError: (), ImportError: ("msg",),
    OSError: ("errno", "strerror", "filename", "filename2"), SyntaxError: ("msg", "filename", "lineno"),
}  # fmt: skip


def _hold_what_is_shown() -> None:
    printers: dict[Any, Any] = pprint.PrettyPrinter._dispatch  # type: ignore[attr-defined]
    kind: type
    for kind, made in ((list, _list_repr()), (types.SimpleNamespace, _namespace_repr())):
        printer = printers.pop(_namespace_of(kind)["__repr__"])
        _change(kind, {"__repr__": made}, (_REPR,))
        printers[made] = printer
    _change(functools.partial, {"__repr__": _partial_repr()}, (_REPR,))
    if sys.version_info >= (3, 12):  # before, it is the list that shows itself
        _change(types.GenericAlias, {"__repr__": _alias_repr()}, (_REPR,))
    for kind, fields in _FIELDS.items():
        _change(kind, {"__str__": _holding(kind, "__str__", "args", *fields)}, (_STR,))
    _change(BaseException, {"__repr__": _holding(BaseException, "__repr__", "args")}, (_REPR,))
    factories = _holding(collections.defaultdict, "__missing__", "default_factory")
    _change(collections.defaultdict, {"__missing__": factories})


_READS_ITS_STACK = (3, 12) <= sys.version_info < (3, 12, 6)


def _with_a_name_by_position() -> dict[str, Callable[..., Any]]:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.py_object)
    inner = make(_slot(typing.TypeVar, _NEW).value)

    def __new__(cls: Any, name: Any, *constraints: Any, **options: Any) -> Any:
        return inner(cls, (name, *constraints), options)

    __new__.__module__ = "__main__"  # what C takes for the module of a type variable
    return {"__new__": __new__}


class _Python:
    """A template class: its C functions call the Python methods of a class by name. They are copied from here."""

    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __init__(self) -> None: ...

    def __getitem__(self, key: object) -> None: ...

    def __contains__(self, value: object) -> bool:
        return False

    def __mod__(self, value: object) -> None: ...

    def __repr__(self) -> str:
        return ""

    def __str__(self) -> str:
        return ""

    def __setitem__(self, key: object, value: object) -> None: ...


class _PythonToo:
    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __init__(self, _value: object) -> None: ...

    def __getitem__(self, key: object) -> int:
        return 0

    def __contains__(self, value: object) -> bool:
        return True

    def __mod__(self, value: object) -> int:
        return 0

    def __repr__(self) -> str:
        return "too"

    def __str__(self) -> str:
        return "too"

    def __setitem__(self, key: object, value: object) -> None: ...


def _slot(kind: type, place: tuple[int, int]) -> Any:
    table = ctypes.c_void_p.from_address(id(kind) + place[0] * _WORD).value if place[0] else id(kind)
    if not table:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    return ctypes.c_void_p.from_address(table + place[1] * _WORD)


def _change(kind: Any, methods: dict[str, Callable[..., Any]], places: tuple[tuple[int, int], ...] = ()) -> None:
    """Set `methods` on `kind` and the classes derived from it, with the C functions at `places` that call them."""
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
    """Apply all changes. Idempotent. Raises ImportError if this interpreter has another memory layout."""
    if not _is_changed(bytearray, "hex"):
        _change(bytearray, _with_any_hook() | _with_numbers(), (_REMAINDER, _CONTAINS, _SET_INDEX, _SET_ITEM))
        _hold_what_is_shown()
        _change(types.GenericAlias, {"__getitem__": _alias_item()}, (_ITEM,))
        for kind, numbers in _UNICODE_ERRORS.items():
            _change(kind, {"__init__": _asking_first(kind, numbers)}, (_INIT,))
        for reversible in _REVERSIBLE:
            _change(reversible, {"__reversed__": _reversed_copy(reversible)})
    if _DROPS_ITEMS and not _is_changed(collections.deque, "index"):
        _change(collections.deque, _holding_items())
    if _READS_ITS_STACK and not _is_changed(typing.TypeVar, "__new__"):
        _change(typing.TypeVar, _with_a_name_by_position(), (_NEW,))
