"""Which classes are a cell's own, and which classes a cell may derive from.

A class that a cell defined carries the cell's module name, which no cell can write. Stores and private names
are allowed on its instances; an unknown class is foreign, and keeps its private side closed.
"""

from __future__ import annotations

import builtins
import enum
import types
from collections.abc import Callable
from typing import Any

from . import facades
from .violations import RuleViolation

#: `__name__` of a cell's globals, and so `__module__` of its classes.
CELL = "__main__"

_members_of = type.__dict__["__dict__"].__get__
_order_of = type.__dict__["__mro__"].__get__

#: Built-in types whose data-model methods do what operators do, on classes and exact instances alike.
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
    and not issubclass(kind, BaseExceptionGroup)
    # An ExceptionGroup is of use with `except*` only. BaseException would catch the worker's own interrupt.
    and kind is not BaseException
}
_FINAL = frozenset({bool, range, slice, type(None), type(NotImplemented), type(...)})
_BASES = (PLAIN_TYPES - _FINAL) | frozenset(EXCEPTIONS.values())

#: Facade classes whose private attributes hold nothing but what the cell itself put there, so that private names
#: on instances of derived classes stay readable. pprint.PrettyPrinter is the counter-example: `_stream` is
#: sys.stdout.
_DERIVABLE = {
    "abc": "ABC",
    "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque",
    "collections.abc": "*",
    "contextlib": "AbstractContextManager ContextDecorator",
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "fractions": "Fraction",
    "json": "JSONDecoder JSONEncoder",
    "string": "Template",
    "types": "SimpleNamespace",
    "typing": "Generic Protocol",
}


def _derivable() -> frozenset[type]:
    found: set[Any] = set(_BASES) | {BaseException, enum.ReprEnum}
    for module, listed in _DERIVABLE.items():
        facade = facades.load(module)
        for name in dir(facade) if listed == "*" else listed.split():
            kind = getattr(facade, name, None)
            if is_class(kind):
                # With their bases: facades.enum.Enum derives from the real one.
                found.update(_order_of(kind))
    return frozenset(found)


def is_class(value: object) -> bool:
    """Whether `value` is a class; isinstance() would believe what the value says about itself."""
    return issubclass(type(value), type)


HARMLESS = _derivable()


def is_own(kind: type) -> bool:
    """Whether a cell defined the class `kind`."""
    return bool(_members_of(kind).get("__module__") == CELL)


def is_plain(kind: type) -> bool:
    """Whether `kind` is a cell's own class, and no foreign base of it keeps private things of its own."""
    return is_own(kind) and all(is_own(each) or each in HARMLESS for each in _order_of(kind))


def members_of(kind: type) -> dict[str, Any]:
    """A copy of the class's own namespace without what the interpreter keeps there."""
    return {name: value for name, value in _members_of(kind).items() if not name.startswith("__")}


class _Kind(type):
    """What makes `type` look like a class: its answers are the real ones, minus the class maker."""

    def __call__(cls, *values: Any, **options: Any) -> Any:
        if len(values) != 1 or options:
            raise RuleViolation("type-call", "type() takes one value here; define classes with a class statement")
        kind = type(values[0])
        return cls if issubclass(kind, type) else kind

    def __instancecheck__(cls, value: object) -> bool:
        return is_class(value)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return is_class(kind) and issubclass(kind, type)

    def __repr__(cls) -> str:
        return "<class 'type'>"


class Kind(metaclass=_Kind):
    """`type` for cells: one argument only, and the type of a class is this very object, never the real one."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, item)


Kind.__name__ = Kind.__qualname__ = "type"
_Kind.__name__ = _Kind.__qualname__ = "type"
Kind.__module__ = _Kind.__module__ = "builtins"


def class_builder(handed_out: Callable[[], frozenset[type]], known: set[type]) -> Callable[..., Any]:
    """The `__build_class__` of cells. Own plain classes are added to `known`.

    `handed_out` are the classes of the session's facades.
    """
    build = builtins.__build_class__

    def build_class(body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
        if "metaclass" in options:
            raise RuleViolation("metaclass", "metaclasses are not supported; use a class decorator")
        for base in _resolved(bases):
            if not (base in _BASES or is_own(base) or base in handed_out()):
                shown = type.__getattribute__(base, "__name__")
                raise RuleViolation(
                    "class-base", f"a class cannot derive from {shown!r}; keep one in an attribute instead"
                )
        made = build(body, name, *bases, **options)
        if is_class(made) and is_plain(made):
            known.add(made)
        return made

    return build_class


def _resolved(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """The classes that `bases` stand for: `Generic[T]` and `NamedTuple` are not classes themselves."""
    for base in bases:
        if not is_class(base) and is_own(type(base)):
            # It could answer `__mro_entries__` differently the second time it is asked.
            raise RuleViolation(
                "class-base", "a class derives from classes; this base is an instance of one of your own"
            )
    resolved = types.resolve_bases(bases)
    for base in resolved:
        if not is_class(base) or issubclass(base, type):
            raise RuleViolation("class-base", f"a class derives from classes, not from {base!r}"[:200])
    return resolved
