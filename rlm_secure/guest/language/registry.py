"""Which classes and functions are a cell's own, and what a class really is.

A class is a cell's own when it is in the registry: `build_class` put it there, or a reviewed facade that makes classes
on a cell's behalf (namedtuple, make_dataclass, the call form of an enum). Identity decides, never a name that a class
carries. A function is a cell's own when its globals are a session's and its code was compiled from a cell.

What a class is, is read past its metaclass: `isinstance`, `issubclass` and `cls.__dict__` ask hooks that a cell may
have written, or an ABC that a cell registered with. The order of bases and the namespace below come from the
interpreter's own record. Only classes of known metaclasses are judged at all: no cell wrote a hook of theirs.
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

from .names import is_dunder, shown
from .violations import RuleViolation

#: `__name__` of a cell's globals, and so `__module__` of its classes. It proves nothing.
CELL = "__main__"
#: The file name in code objects and tracebacks of cells.
FILENAME = "<cell>"

Class = TypeVar("Class", bound=type)

_order_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], types.MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__


def _standard_metaclasses() -> set[type]:
    found = {type, abc.ABCMeta, enum.EnumType}
    # Protocol, NamedTuple, TypedDict and Any each have one, which typing does not name in public.
    found.update(kind for kind in vars(typing).values() if type in getattr(kind, "__mro__", ()))
    return found


def _registry() -> tuple[Callable[..., Any], ...]:
    """The functions below around state that nothing else holds."""
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
        """Whether `value` is a plain function compiled from a cell: of the session with the globals `space`, or of any.

        A method that a library generated for a cell's class is not.
        """
        if type(value) is not types.FunctionType or value.__code__.co_filename != FILENAME:
            return False
        table = value.__globals__
        return table is space if space is not None else id(table) in spaces

    def register(kind: Class, space: dict[str, Any] | None = None) -> Class:
        """Enter `kind` as a cell's own, made by the session whose globals are `space`. Returns it.

        Raises TypeError for a class of an unknown metaclass, and RuleViolation for one that derives from what is
        neither a cell's nor admitted: what its bases are is the interpreter's record, whatever they said.
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
        """Let cells' classes derive from these classes of the standard library."""
        bases.update(kinds)

    def globals_of(kind: type) -> dict[str, Any] | None:
        """The globals of the session whose class statement made `kind`, or None."""
        return made.get(kind)

    def register_globals(space: dict[str, Any]) -> None:
        """Enter `space` as the globals of a session, for as long as this process lives."""
        spaces[id(space)] = space

    def admit_metaclass(metaclass: Class) -> Class:
        """A class decorator: `metaclass`, written for the guest, is a known one from here on."""
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
    """The classes of `kind`, itself first, as the interpreter keeps them: the exact `__mro__`."""
    return _order_of(kind)


def namespace_of(kind: type) -> types.MappingProxyType[str, Any]:
    """The class's own namespace, as the interpreter keeps it. Never hand it to a cell."""
    return _namespace_of(kind)


def title(kind: type) -> str:
    """The class's name for a message, of at most 60 characters; no code of the class or of the name runs."""
    return str.__str__(_name_of(kind))[:60]


def derives(kind: type, base: type) -> bool:
    """Whether `base` is in the exact `__mro__` of the class `kind`."""
    return base in _order_of(kind)


def is_instance(value: object, kind: type) -> bool:
    """Whether `value` is an instance of `kind` by the exact `__mro__` of its type, whatever it or an ABC says."""
    return kind in _order_of(type(value))


def stored(kind: type, name: str, default: Any = None) -> Any:
    """What `kind` or a base of it holds as `name`, as it is stored: no descriptor, no hook runs."""
    for each in _order_of(kind):
        namespace = _namespace_of(each)
        if name in namespace:
            return namespace[name]
    return default


#: Types of C code that call a derived class, and go on with what comes back as with one of theirs, unchecked.
_TRUSTING = (
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal,
    collections.defaultdict, collections.deque,
)  # fmt: skip


def memory_of(kind: type) -> type | None:
    """The type whose memory C code takes an instance of the own class `kind` to have, where it does not check."""
    return next((each for each in _TRUSTING if derives(kind, each)), None)


def finish(kind: type) -> None:
    """Put right in `kind`, an own class, what library and C code would trust. Doing it twice does no harm.

    register() does it, before any hook of the cell sees the class. Whoever calls a library that writes on the class
    after that does it again. Raises RuleViolation for slots that belong to the interpreter.
    """
    check_slots(kind)
    _keep_new(kind)
    if _is_c_alias(stored(kind, "__class_getitem__")):
        type.__setattr__(kind, "__class_getitem__", classmethod(_subscripted))


def is_finished(kind: type, name: str) -> bool:
    """Whether what the own class `kind` has as `name` was put right, or would be, so that no cell stores or deletes it.

    Below an entry that a cell made, and takes away again, lies the one of C code.
    """
    if name == "__new__":
        return memory_of(kind) is not None
    return name == "__class_getitem__" and any(_is_c_alias(_namespace_of(each).get(name)) for each in _order_of(kind))


def _is_c_alias(found: Any) -> bool:
    """Whether `found`, as `__class_getitem__` of a class, makes an alias of C code."""
    if type(found) is classmethod:
        return found.__func__ is types.GenericAlias
    return type(found) is types.ClassMethodDescriptorType


def _subscripted(kind: type, item: Any) -> Any:
    """`L[int]` where L derives from a container: an alias of typing's, which writes on instances of L alone.

    The one of C code writes itself on whatever the `__new__` of L returns.
    """
    return typing._GenericAlias(kind, item if type(item) is tuple else (item,))  # type: ignore[attr-defined]


def table() -> tuple[Callable[[Any, Any], None], Callable[..., Any]]:
    """Two functions, set(key, value) and get(key, default=None), around a dict that nothing else holds.

    What no name leads to is changed by nobody.
    """
    kept: dict[Any, Any] = {}
    return kept.__setitem__, kept.get


#: What _keep_new stored as the `__new__` of a class.
_set_new, _new_of = table()


def _keep_new(kind: type) -> None:
    """Have `kind` make instances of such a type only, whatever its `__new__`, or one that it inherits, returns.

    `astimezone` of a datetime writes into what `__new__` of its class returned, as if it were a datetime.
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


#: What finds no reason to fail when it is looked up as a method: the interpreter takes failing for having none.
_METHODS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, type(None),
)  # fmt: skip
#: The class for which _over_items made a function.
_set_over_items, _over_items_of = table()


def _keep_iter(kind: Any) -> None:
    """Have instances of `kind` that are iterated over by `__getitem__` alone iterated over in Python.

    C's iterator over `__getitem__`, which zip, map and others make, lets go of its sequence twice where `__getitem__`
    asks it for the next item. So a class that has `__getitem__` has an `__iter__`.
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
    """Whether a base that no cell can change has an `__iter__`."""
    return any("__iter__" in _namespace_of(each) and not own_class(each) for each in _order_of(kind)[1:])


def _looked_up(found: Any) -> types.FunctionType:
    """An `__iter__` that looks `found` up as the interpreter would, and raises what that raises."""

    def __iter__(self: Any) -> Any:
        kind = type(found)
        return (found if stored(kind, "__get__") is None else kind.__get__(found, self, type(self)))()

    return __iter__  # type: ignore[return-value]


def _over_items(kind: Any) -> types.FunctionType:
    """The `__iter__` of `kind`: that of the classes after it, or over the items."""

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


#: What change() keeps.
_set_held, _ = table()


def change(kind: Any, name: str, *to: Any) -> None:
    """setattr(kind, name, *to), or without a value delattr(kind, name), that lets nobody see a freed object.

    Up to Python 3.12 the interpreter frees the old value of a class attribute before it clears its cache of attributes.
    Code that runs because of that, such as the `finally` of a generator, would read the freed object from the cache:
    so the old value lives until the cache is cleared. C code calls what a class has under a special name without
    holding it: such values live as long as the worker.
    """
    old = _namespace_of(kind).get(name) if is_class(kind) else None  # until this returns
    if own_class(kind) and is_dunder(name):
        _set_held(object(), (old, to))
    if to:
        setattr(kind, name, *to)
    else:
        delattr(kind, name)


class Changed:
    """Where attributes of the own class `kind` are read, set and deleted."""

    __slots__ = ("_kind",)

    def __init__(self, kind: type) -> None:
        object.__setattr__(self, "_kind", kind)

    def __getattribute__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_kind"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        change(object.__getattribute__(self, "_kind"), name, value)

    def __delattr__(self, name: str) -> None:
        change(object.__getattribute__(self, "_kind"), name)


class Iterated(Changed):
    """The same for `__iter__` and `__getitem__`."""

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
    """setattr, or without a value delattr, for libraries that change an own class after it was registered: by the
    same rules.
    """
    if own_class(kind) and name in ("__iter__", "__getitem__"):
        kind = Iterated(kind)
    change(kind, name, *to)


def registrar(space: dict[str, Any] | None) -> Any:
    """What stands first in the namespace of a class body, and enters the class before any hook of the cell sees it.

    A class is made, then its attributes get `__set_name__`, then its bases `__init_subclass__`: honest hooks of both
    kinds set attributes on the class that they are handed. `space` are the session's globals, where there are any.
    """

    class Registrar:
        __slots__ = ()

        def __get__(self, _instance: object, _owner: object = None) -> None:
            """A descriptor, so that an enum takes it for no member."""

        def __set_name__(self, owner: type, name: str) -> None:
            type.__delattr__(owner, name)
            register(owner, space)

    return Registrar()


def check_slots(kind: type) -> None:
    """Refuse `__slots__ = ("__class__",)`: an instance could then say what it likes of itself, by `__getattr__`."""
    for name, value in _namespace_of(kind).items():
        if type(value) is types.MemberDescriptorType and is_dunder(name):
            raise RuleViolation("class-slots", f"the slot {shown(name)} belongs to the interpreter; name it otherwise")
