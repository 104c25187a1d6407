"""The registry of a cell's own classes and functions, and safe ways to inspect a class.

A class is a cell's own if it is in the registry: added by `build_class`, or by a reviewed facade that makes classes for
a cell (namedtuple, make_dataclass, the call form of an enum). Identity decides, never the name of a class. A function
is a cell's own if its globals are those of a session and its code was compiled from a cell.

Classes are inspected without their metaclass: `isinstance`, `issubclass` and `cls.__dict__` can call hooks that a cell
has written, or ask an ABC with which a cell has registered. The mro and the namespace here are read from the
interpreter's own data. Only classes with a known metaclass are accepted, because no cell wrote a hook of these.
"""

from __future__ import annotations

import abc
import collections
import datetime
import decimal
import enum
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .names import DEFINABLE, is_dunder, shown
from .violations import RuleViolation

#: `__name__` of a cell's globals, and so `__module__` of its classes. No proof of origin: other code can have it.
CELL = "__main__"
#: The file name in code objects and tracebacks of cells.
FILENAME = "<cell>"

Class = TypeVar("Class", bound=type)

_order_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], types.MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__


def _standard_metaclasses() -> set[type]:
    found = {type, abc.ABCMeta, enum.EnumType}
    # Protocol, NamedTuple, TypedDict and Any have private metaclasses in typing.
    found.update(kind for kind in vars(typing).values() if type in getattr(kind, "__mro__", ()))
    return found


def _registry() -> tuple[Callable[..., Any], ...]:
    """Create the functions below. Their state is only in this closure, where no other code can change it."""
    made: dict[type, dict[str, Any] | None] = {}
    spaces: dict[int, dict[str, Any]] = {}
    metaclasses = _standard_metaclasses()
    bases: set[type] = set()

    def is_class(value: object) -> bool:
        """Whether `value` is a class of a known metaclass. No hook of any object runs."""
        return type(value) in metaclasses

    def own_class(value: object) -> bool:
        """Whether `value` is a class that a cell defined, or that a facade made for it."""
        return type(value) in metaclasses and value in made

    def own_instance(value: object) -> bool:
        """Whether the exact type of `value` is a cell's own class."""
        kind = type(value)
        return type(kind) in metaclasses and kind in made

    def own_function(value: object, space: dict[str, Any] | None = None) -> bool:
        """Whether `value` is a plain function compiled from a cell, of the session with the globals `space` or of any.

        A method that a library generated for a cell's class does not count.
        """
        if type(value) is not types.FunctionType or value.__code__.co_filename != FILENAME:
            return False
        table = value.__globals__
        return table is space if space is not None else id(table) in spaces

    def register(kind: Class, space: dict[str, Any] | None = None) -> Class:
        """Register `kind` as a cell's own class, made by the session whose globals are `space`, and return it.

        Raises TypeError for an unknown metaclass, and RuleViolation for a base that is neither a cell's own nor
        admitted. The bases are those of the interpreter's own mro, whatever `__mro_entries__` returned.
        """
        if type(kind) not in metaclasses:
            raise TypeError("a class with a metaclass of its own cannot be a cell's class; use a class decorator.")
        if kind not in made:
            if not all(each in made or each in bases for each in _order_of(kind)[1:]):
                raise RuleViolation(
                    "class-base", "a class cannot have these bases here; keep one in an attribute instead"
                )
            finish(kind)
            made[kind] = space
            _keep_iter(kind)
        elif made[kind] is None:
            made[kind] = space
        return kind

    def admit_bases(kinds: Iterable[type]) -> None:
        """Allow cells' classes to derive from these classes of the standard library."""
        bases.update(kinds)

    def globals_of(kind: type) -> dict[str, Any] | None:
        """The globals of the session whose class statement made `kind`, or None."""
        return made.get(kind)

    def register_globals(space: dict[str, Any]) -> None:
        """Register `space` as the globals of a session, for the lifetime of this process."""
        spaces[id(space)] = space

    def admit_metaclass(metaclass: Class) -> Class:
        """A class decorator: register `metaclass`, which is written for the guest, as a known one."""
        metaclasses.add(metaclass)
        return metaclass

    return (
        is_class, own_class, own_instance, own_function, register, globals_of, register_globals, admit_metaclass,
        admit_bases,
    )  # fmt: skip


(
    is_class,
    own_class,
    own_instance,
    own_function,
    register,
    globals_of,
    register_globals,
    admit_metaclass,
    admit_bases,
) = _registry()


def order_of(kind: type) -> tuple[type, ...]:
    """The exact `__mro__` of `kind`, as the interpreter stores it."""
    return _order_of(kind)


def namespace_of(kind: type) -> types.MappingProxyType[str, Any]:
    """The class's own namespace, as the interpreter stores it. It must never be passed to a cell."""
    return _namespace_of(kind)


def attributes_of(value: object) -> Any:
    """The dict of the attributes of `value`; None without one. Runs no hook."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def title(kind: type) -> str:
    """The class's name for a message, at most 60 characters. Runs no code of the class or of the name."""
    return str.__str__(_name_of(kind))[:60]


def derives(kind: type, base: type) -> bool:
    """Whether `base` is in the exact `__mro__` of the class `kind`."""
    return base in _order_of(kind)


def is_instance(value: object, kind: type) -> bool:
    """Whether `kind` is in the exact `__mro__` of the type of `value`. Ignores `__class__` and ABCs."""
    return kind in _order_of(type(value))


def stored(kind: type, name: str, default: Any = None) -> Any:
    """The object stored as `name` in `kind` or a base of it. Runs no descriptor and no hook."""
    for each in _order_of(kind):
        namespace = _namespace_of(each)
        if name in namespace:
            return namespace[name]
    return default


#: C types that call a derived class and use the result as their own instance, without a check.
_TRUSTING = (
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal,
    collections.defaultdict, collections.deque,
)  # fmt: skip
#: Most classes derive from none of them.
_NO_TRUST = frozenset(_TRUSTING).isdisjoint


def memory_of(kind: type) -> type | None:
    """The C type whose memory layout is assumed, without a check, for the results of calling the own class `kind`."""
    if _NO_TRUST(_order_of(kind)):
        return None
    return next(each for each in _TRUSTING if derives(kind, each))


def finish(kind: type) -> None:
    """Replace what library and C code would wrongly trust in `kind`, an own class. Idempotent.

    register() calls it before any hook of the cell sees the class. It must be called again after a library has written
    on the class. Raises RuleViolation for slots that belong to the interpreter.
    """
    check_slots(kind)
    _keep_new(kind)
    _keep_getattr(kind)
    if _is_c_alias(stored(kind, "__class_getitem__")):
        type.__setattr__(kind, "__class_getitem__", classmethod(_subscripted))


def is_finished(kind: type, name: str) -> bool:
    """Whether `finish` replaces `name` on the own class `kind`, so that no cell may store or delete it.

    If a cell could delete its own entry, that of C code in a base would be found again.
    """
    if name == "__new__":
        return memory_of(kind) is not None
    return name == "__class_getitem__" and any(_is_c_alias(_namespace_of(each).get(name)) for each in _order_of(kind))


def _is_c_alias(found: Any) -> bool:
    """Whether `found`, the `__class_getitem__` of a class, creates an alias implemented in C."""
    if type(found) is classmethod:
        return found.__func__ is types.GenericAlias
    return type(found) is types.ClassMethodDescriptorType


def _subscripted(kind: type, item: Any) -> Any:
    """`L[int]` where L derives from a container: an alias of typing, which only sets attributes on instances of L.

    Calling an alias of C code sets an attribute on any object that the `__new__` of L returns.
    """
    return typing._GenericAlias(kind, item if type(item) is tuple else (item,))  # type: ignore[attr-defined]


def table() -> tuple[Callable[[Any, Any], None], Callable[..., Any]]:
    """Two functions, set(key, value) and get(key, default=None), for a dict that only they can reach.

    No name leads to the dict, so no cell can change it.
    """
    kept: dict[Any, Any] = {}
    return kept.__setitem__, kept.get


#: The functions that _keep_new stored as the `__new__` of classes.
_set_new, _new_of = table()


def _keep_new(kind: type) -> None:
    """Have `__new__` of `kind`, own or inherited, raise TypeError unless it returns an instance of the trusting type.

    For example, `astimezone` of a datetime writes into the object that `__new__` of its class returned, as if it were a
    datetime.
    """
    layout = memory_of(kind)
    if layout is None or ((kept := _new_of(kind)) is not None and _namespace_of(kind).get("__new__") is kept):
        return
    found = stored(kind, "__new__")
    inner = found.__func__ if type(found) is staticmethod else found

    def __new__(cls: type, /, *values: Any, **options: Any) -> Any:
        made = inner(cls, *values, **options)
        if not is_instance(made, layout):
            raise TypeError(f"__new__ of {title(kind)} returns its instances, not a {title(type(made))}.")
        return made

    _set_new(kind, staticmethod(__new__))
    type.__setattr__(kind, "__new__", _new_of(kind))


#: The names that `__getattr__` of a cell's class is asked for are public, private, or those that cells define.
_set_getattr, _getattr_of = table()


def _keep_getattr(kind: type) -> None:
    """Have `__getattr__` of `kind` answer no name of the form __x__ that cells cannot define.

    Libraries ask objects for such names, and trust the answer: numpy reads memory where `__array_interface__` says.
    """
    found = _namespace_of(kind).get("__getattr__")
    if found is not None and (type(found) is not types.FunctionType or _getattr_of(found) is None):
        type.__setattr__(kind, "__getattr__", _asked(found))


def _asked(found: Any) -> types.FunctionType:
    def __getattr__(self: Any, name: str) -> Any:
        if is_dunder(name) and name not in DEFINABLE:
            raise AttributeError(f"no attribute {shown(name)}")
        kind = type(found)
        return (found if stored(kind, "__get__") is None else kind.__get__(found, self, type(self)))(name)

    _set_getattr(__getattr__, True)
    return __getattr__  # type: ignore[return-value]


#: Types whose look-up as a method never fails. If the look-up of a special method fails, the interpreter assumes that
#: there is none.
_METHODS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, type(None),
)  # fmt: skip
#: The functions that _over_items made, and the class of each.
_set_over_items, _over_items_of = table()


def _keep_iter(kind: Any) -> None:
    """Give a class that has `__getitem__` alone an `__iter__` in Python.

    Otherwise zip, map and others use the C iterator over `__getitem__`, which releases its sequence twice if
    `__getitem__` asks that same iterator for the next item.
    """
    namespace = _namespace_of(kind)
    if "__iter__" in namespace:
        found = namespace["__iter__"]
        if type(found) is not types.FunctionType or _over_items_of(found, kind) is kind:
            if type(found) not in _METHODS:
                type.__setattr__(kind, "__iter__", _looked_up(found))
            return
    elif "__getitem__" not in namespace or _iterable_by_library(kind):
        return
    type.__setattr__(kind, "__iter__", _over_items(kind))


def _iterable_by_library(kind: type) -> bool:
    """Whether a base that cells cannot change has an `__iter__`."""
    return any("__iter__" in _namespace_of(each) and not own_class(each) for each in _order_of(kind)[1:])


def _looked_up(found: Any) -> types.FunctionType:
    """An `__iter__` that looks up `found` as the interpreter would, but lets its exceptions through."""

    def __iter__(self: Any) -> Any:
        kind = type(found)
        return (found if stored(kind, "__get__") is None else kind.__get__(found, self, type(self)))()

    return __iter__  # type: ignore[return-value]


def _over_items(kind: Any) -> types.FunctionType:
    """An `__iter__` for `kind`: it calls that of the next class in the mro, or iterates over the items."""

    def __iter__(self: Any) -> Any:
        order = _order_of(type(self))
        if any("__iter__" in _namespace_of(each) for each in order[order.index(kind) + 1 :]):
            return super(kind, self).__iter__()
        return _items(self)

    _set_over_items(__iter__, kind)
    return __iter__  # type: ignore[return-value]


def _items(values: Any) -> Any:
    at = 0
    while True:
        try:
            item = values[at]
        except (IndexError, StopIteration):
            return
        yield item
        at += 1


#: The values that change() keeps alive.
_set_held, _ = table()


def change(kind: Any, name: str, *to: Any) -> None:
    """setattr(kind, name, *to), or delattr(kind, name) without a value, without any use of freed objects.

    Up to Python 3.12, the interpreter frees the old value of a class attribute before it clears its attribute cache.
    Code that runs when the value is freed, such as the `finally` of a generator, could read the freed object from the
    cache. So the old value is kept until the cache is cleared. C code calls special methods without a reference to
    them, so values of special names are kept for the lifetime of the worker.
    """
    old = _namespace_of(kind).get(name) if is_class(kind) else None  # until this returns
    if own_class(kind) and is_dunder(name):
        _set_held(object(), (old, to))
    if to:
        setattr(kind, name, *to)
    else:
        delattr(kind, name)


class Changed:
    """A proxy on which attributes of the own class `kind` are read, set and deleted."""

    __slots__ = ("_kind",)

    def __init__(self, kind: type) -> None:
        object.__setattr__(self, "_kind", kind)

    def __getattribute__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_kind"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        change(object.__getattribute__(self, "_kind"), name, _asked(value) if name == "__getattr__" else value)

    def __delattr__(self, name: str) -> None:
        change(object.__getattribute__(self, "_kind"), name)


class Iterated(Changed):
    """The same for `__iter__` and `__getitem__`, for which the class always needs an `__iter__` in Python."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        kind = object.__getattribute__(self, "_kind")
        if name == "__iter__":
            value = value if type(value) in _METHODS else _looked_up(value)
        elif "__iter__" not in _namespace_of(kind) and not _iterable_by_library(kind):
            change(kind, "__iter__", _over_items(kind))
        change(kind, name, value)

    def __delattr__(self, name: str) -> None:
        kind = object.__getattribute__(self, "_kind")
        both = {"__iter__", "__getitem__"} <= _namespace_of(kind).keys()
        if name == "__iter__" and both and not _iterable_by_library(kind):
            change(kind, name, _over_items(kind))
        else:
            change(kind, name)


def store(kind: Any, name: str, *to: Any) -> None:
    """setattr, or delattr without a value, with the rules for cells. For libraries that change a registered class."""
    if own_class(kind) and name in ("__iter__", "__getitem__"):
        kind = Iterated(kind)
    change(kind, name, *to)


def registrar(space: dict[str, Any] | None) -> Any:
    """A descriptor that is first in the namespace of a class body, and registers the class before any hook sees it.

    When a class is created, `__set_name__` of its attributes is called first, then `__init_subclass__` of its bases.
    Ordinary hooks of both kinds set attributes on the class, which must be registered for that. `space` are the
    session's globals, if there are any.
    """

    class Registrar:
        __slots__ = ()

        def __get__(self, _instance: object, _owner: object = None) -> None:
            """Defined so that this is a descriptor, which an enum does not make a member."""

        def __set_name__(self, owner: type, name: str) -> None:
            type.__delattr__(owner, name)
            register(owner, space)

    return Registrar()


def check_slots(kind: type) -> None:
    """Refuse `__slots__ = ("__class__",)`, with which an instance could fake its class. Raises RuleViolation."""
    for name, value in _namespace_of(kind).items():
        if type(value) is types.MemberDescriptorType and is_dunder(name):
            raise RuleViolation("class-slots", f"the slot {shown(name)} belongs to the interpreter; name it otherwise")
