"""Which classes a cell may derive from, which attributes of its own classes are open, and what `type` returns.

Stores and private names are allowed on classes in the registry and on their instances. Every other class is foreign:
its private names stay closed.
"""

from __future__ import annotations

import abc
import builtins
import enum
import types
import typing
from collections.abc import Callable
from typing import Any, NoReturn

from . import facades, names, registry
from .facades import generated
from .registry import derives, is_class, is_instance, namespace_of, order_of, own_class, stored, title
from .violations import AttributeRefused, RuleViolation

#: Built-in types whose data-model methods do the same as operators, on the classes and on exact instances.
PLAIN_TYPES = frozenset(
    {
        object, bool, int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset, range, slice,
        type(None), type(NotImplemented), type(...),
    }
)  # fmt: skip
EXCEPTIONS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, BaseException)
    # These would catch the worker's interrupt.
    and kind is not BaseException
    and kind is not BaseExceptionGroup
}
_FINAL = frozenset({bool, range, slice, type(None), type(NotImplemented), type(...)})
#: `except*` calls `split` of a group, and up to Python 3.13.1 trusts what it returns (CVE-2025-22153). So no cell has a
#: group with a `split` of its own: it cannot derive from the class, nor set an attribute on an instance.
_BASES = (PLAIN_TYPES - _FINAL) | (frozenset(EXCEPTIONS.values()) - {ExceptionGroup})

#: Facade classes that a cell may derive from. All private data of their instances comes from the cell, and none of
#: their methods reads or writes attributes of other objects by a name that a derived class chooses. Left out because
#: they do: pprint.PrettyPrinter (its `_stream` is sys.stdout), functools.cached_property (it writes any key into any
#: instance from which it is read), contextlib.ExitStack, random.Random.
_DERIVABLE = {
    "abc": "ABC",
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "collections.abc": "*",
    "contextlib": "AbstractContextManager ContextDecorator",
    "csv": "Dialect excel excel_tab unix_dialect",
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "fractions": "Fraction",
    "json": "JSONDecodeError JSONDecoder JSONEncoder",
    "types": "SimpleNamespace",
    "typing": "Generic NamedTuple Protocol TypedDict",
}


def _derivable() -> frozenset[type]:
    found: set[Any] = set(_BASES) | {BaseException}
    for module, listed in _DERIVABLE.items():
        facade = facades.load(module)
        for name in dir(facade) if listed == "*" else listed.split():
            # With all their bases, because a facade's class may derive from the real one, as enum.Enum does.
            for kind in types.resolve_bases((getattr(facade, name),)):
                found.update(order_of(kind))
    return frozenset(found)


FOREIGN_BASES = _derivable()
registry.admit_bases(FOREIGN_BASES)


#: Types of objects that may be bases without being classes: their `__mro_entries__` return their origin.
_ALIASES = frozenset({type(typing.List[int]), type(typing.List), type(typing.Tuple), type(typing.Callable)} | {  # noqa: UP006
    type(list[int]), type(Callable[[], int]), type(typing.Callable[[], int])
})  # fmt: skip
#: What a cell writes for abc.ABCMeta.
_ABC_META: Any = facades.load("abc").ABCMeta
#: Functions that may be used as a base.
_NAMED_TUPLE, _TYPED_DICT = (getattr(facades.load("typing"), name) for name in ("NamedTuple", "TypedDict"))


#: Private names of derivable classes that may still be read: hooks of Enum, and an opaque object of ABC.
_OPEN = frozenset({"_missing_", "_generate_next_value_", "_abc_impl"})
#: Names like _x_ of an enum that belong to the cell: hooks, settings in its body, and attributes that `__new__` sets.
_OF_ENUMS = frozenset({"_missing_", "_generate_next_value_", "_ignore_", "_order_", "_name_", "_value_"})
#: Private names that library code writes into a cell's class, by the base class that causes it.
_KEPT: dict[Any, frozenset[str]] = {
    tuple: names.TUPLE_METHODS | {"_field_defaults"},
    typing.Protocol: frozenset({"_is_protocol", "_is_runtime_protocol"}),
}


def kept(kind: type, name: str) -> bool:
    """Whether `name` on the own class `kind`, or on its instances, holds data that library code keeps and trusts.

    For example, `Flag._missing_` writes on any object that the class's `_member_type_` makes. Which of these names
    exist depends on the Python version. So for enums all names like _x_ count, except those meant for programs.
    """
    if name[:1] == name[-1:] == "_" and name not in _OF_ENUMS and derives(kind, enum.Enum):
        return True
    if name == "_abc_impl":
        return derives(type(kind), abc.ABCMeta)
    return any(name in listed and derives(kind, base) for base, listed in _KEPT.items())


class _Records:
    """A proxy for data that a library keeps on a cell's class: it can be read but not changed.

    For enums, plain data is returned as a copy, and other data is closed.
    """

    __slots__ = ("_kind", "_value")

    def __init__(self, value: Any, kind: type) -> None:
        object.__setattr__(self, "_value", value)
        object.__setattr__(self, "_kind", kind)

    def __getattribute__(self, name: str) -> Any:
        kind = object.__getattribute__(self, "_kind")
        if not derives(kind, enum.Enum):
            return getattr(object.__getattribute__(self, "_value"), name)
        found = stored(kind, name)
        if type(found) is dict or type(found) is list:
            return found.copy()
        if type(found) in (int, str, bool):
            return found
        said = f"{names.shown(name)} is private to {title(kind)}; use public names"
        raise AttributeRefused("private-attribute", said)

    def __setattr__(self, name: str, _value: Any) -> NoReturn:
        refuse_store(object.__getattribute__(self, "_kind"), name)

    def __delattr__(self, name: str) -> NoReturn:
        refuse_store(object.__getattribute__(self, "_kind"), name)


def records(value: Any, kind: type) -> Any:
    """A read-only proxy for a library's data on `value`, which is the class `kind` or an instance of it."""
    return _Records(value, kind)


def refuse_store(kind: type, name: str) -> NoReturn:
    """Refuse to change a library's data on `kind`. Always raises RuleViolation."""
    raise AttributeRefused(
        "attribute-store", f"{names.shown(name)} of {title(kind)} is kept by a library; define it in the class"
    )


_WITH_PRIVATES = frozenset(
    kind
    for kind in FOREIGN_BASES
    if any(names.is_private(name) and not names.is_dunder(name) and name not in _OPEN for name in namespace_of(kind))
)


def has_no_foreign_privates(kind: type) -> bool:
    """Whether every private name on instances of the own class `kind` belongs to the cell."""
    return _WITH_PRIVATES.isdisjoint(order_of(kind))


def opens(kind: type, name: str, *, on_class: bool = False, on_super: bool = False) -> bool:
    """Whether the private `name` of the own class `kind` leads to an object that the cell made.

    On the class itself, its metaclass can provide the name as well: an enum's `_convert_` reads the namespace of any
    module. A super() skips classes, so for it no foreign class in the mro may have the name.
    """
    if name in _OPEN:
        return True
    if on_class and stored(type(kind), name) is not None:
        return False
    holders = [each for each in order_of(kind) if name in namespace_of(each)]
    return all(map(own_class, holders if on_super else holders[:1]))


def members_of(kind: type) -> dict[str, Any]:
    """A copy of the class's own namespace, without the data that the interpreter and libraries keep there."""
    return {
        name: value
        for name, value in namespace_of(kind).items()
        if not name.startswith("__")
        and not (kept(kind, name) and derives(kind, enum.Enum))
        and not _of_a_library(type(value))
    }


def _of_a_library(kind: type) -> bool:
    """Whether objects of `kind` are descriptors of a library, written in Python, that cells cannot create.

    If a cell stored one under another name or in another class, it would read and write attributes that these choose.
    Descriptors written in C check their arguments.
    """
    if kind in _OFFERED or kind is types.FunctionType or own_class(kind):
        return False
    hooks = ("__get__", "__set__", "__delete__", "__set_name__")
    return any(type(stored(kind, name)) is types.FunctionType for name in hooks)


@registry.admit_metaclass
class _StandIn(type):
    """The metaclass of stand-ins for classes that cells must not get: isinstance() works, creating objects does not."""

    def __call__(cls, *values: Any, **options: Any) -> Any:
        if cls is not Kind:
            raise RuleViolation("type-call", f"{cls.__name__} makes no objects here; write a def or a lambda")
        if len(values) != 1 or options:
            raise RuleViolation("type-call", "type() takes one value here; define classes with a class statement")
        return seen(type(values[0]))

    def __instancecheck__(cls, value: object) -> bool:
        return is_instance(value, _STANDS_FOR[cls])

    def __subclasscheck__(cls, kind: Any) -> bool:
        real: Any = _STANDS_FOR.get(kind, kind) if is_class(kind) else None
        return kind is cls or (real is not None and derives(real, _STANDS_FOR[cls]))

    def __repr__(cls) -> str:
        return type.__repr__(_STANDS_FOR[cls])


class Kind(metaclass=_StandIn):
    """`type` for cells: takes one argument, and the type of a class is this object, never the real `type`."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> Any:
        # For annotations. Not an alias of C code: calling that sets an attribute on its result, which is a class here.
        return typing._GenericAlias(cls, (item,), inst=False)  # type: ignore[attr-defined]


class Function(metaclass=_StandIn):
    """The type of functions for cells. The real one can make functions from code objects."""

    __slots__ = ()


_STANDS_FOR: dict[type, type] = {Kind: type, Function: types.FunctionType}
_STAND_INS: dict[type, type] = {types.FunctionType: Function}
for _named, _title in ((Kind, "type"), (_StandIn, "type"), (Function, "function")):
    _named.__name__ = _named.__qualname__ = _title
    _named.__module__ = "builtins"


def _offered() -> frozenset[type]:
    """Classes that cells can get, or whose instances can be created without further effect."""
    found: set[Any] = set(_BASES) | _FINAL | {ExceptionGroup, enumerate, filter, map, reversed, zip, super, property}
    found |= {classmethod, staticmethod, types.SimpleNamespace}
    for module in facades.NAMES:
        facade = facades.load(module)
        found.update(value for value in (getattr(facade, name) for name in dir(facade)) if is_class(value))
    return frozenset(found)


_OFFERED = _offered()


def offer(kinds: set[type]) -> None:
    """Count `kinds` as classes that cells can get: those of a package, when it has facades. Called in the zygote."""
    global _OFFERED
    _OFFERED |= kinds


def seen(kind: type) -> type:
    """The result of `type(x)` for an `x` of the class `kind`. Raises RuleViolation for an unknown metaclass.

    If no facade has the class, it is a stand-in. The class itself would give access to its constructor: that of an
    alias of typing takes any origin, that of a method any function.
    """
    if kind in _OFFERED or own_class(kind):
        return kind
    if type in order_of(kind):
        return Kind
    if not is_class(kind):
        raise RuleViolation("metaclass", "the class of this value has a metaclass that nobody reviewed")
    return kind if derives(kind, Exception) else _stand_in(kind)


def ancestor(kind: type) -> type:
    """`kind`, a base of a class that a cell has, as the cell gets it: a stand-in unless it may have the class itself.

    For exceptions as well: the bases of a refusal are the classes with which guards make one.
    """
    return kind if kind in _OFFERED or own_class(kind) or type(kind) is _StandIn else _stand_in(kind)


def _stand_in(kind: type) -> type:
    """A class with the name of `kind` that works with isinstance(), and makes no instances."""
    found = _STAND_INS.get(kind)
    if found is None:
        own = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        found = _STAND_INS[kind] = type.__call__(_StandIn, kind.__name__, (), own)
        _STANDS_FOR[found] = kind
    return found


def class_builder(known: set[type], space: dict[str, Any]) -> Callable[..., Any]:
    """The `__build_class__` of the cells whose globals are `space`.

    It adds to `known` the classes on whose instances every private name belongs to the cell.
    """
    build = builtins.__build_class__

    def build_class(body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
        for option in options:
            if type(option) is not str:  # a subclass could behave differently here and in the interpreter
                raise RuleViolation("metaclass", "the keywords of a class are plain text; write them out")
            if option == "metaclass" and options[option] is _ABC_META:
                options[option] = abc.ABCMeta
            elif option == "metaclass" or option.startswith("_"):
                raise RuleViolation("metaclass", "metaclasses are not supported; use a class decorator")
        if bases:
            _check_bases(bases)
        try:
            made = build(body, name, *bases, **options)
        except RuntimeError as error:  # Python 3.11 wraps exceptions of the registrar's `__set_name__`
            if isinstance(error.__cause__, RuleViolation):
                raise error.__cause__ from None
            raise
        if names.REGISTRAR in namespace_of(made):  # NamedTuple copies the names of the body, and calls no hooks
            type.__delattr__(made, names.REGISTRAR)
        registry.register(made, space)
        if "_make" in namespace_of(made):  # of typing.NamedTuple
            generated.record(made)
        if has_no_foreign_privates(made):
            known.add(made)
        return made

    return build_class


def _check_bases(bases: tuple[Any, ...]) -> None:
    """Refuse bases that are not derivable, before `__mro_entries__` of any of them is called. Raises RuleViolation.

    `__mro_entries__` receives all bases, and an alias compares its origin with each of them. If all bases are exact
    classes and exact aliases, the comparison runs no code of the cell.
    """
    for base in bases:
        kind: type = type(base)
        origin = object.__getattribute__(base, "__origin__") if kind in _ALIASES else base
        if is_class(origin):
            if origin in FOREIGN_BASES or own_class(origin):
                continue
            shown = names.shown(title(origin))
            raise RuleViolation(
                "class-base", f"a class cannot derive from {shown} here; keep one in an attribute instead"
            )
        if origin is not _NAMED_TUPLE and origin is not _TYPED_DICT:
            raise RuleViolation("class-base", "a class derives from classes; this base is none")
