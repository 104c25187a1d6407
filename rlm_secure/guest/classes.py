"""Which classes are a cell's own, and which classes a cell may derive from.

A class that a cell defined carries the cell's module name, which no cell can write. Stores and private names are
allowed on such classes and their instances; every other class is foreign, and keeps its private side closed.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from . import facades, names
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

#: Facade classes that a cell may derive from. Their instances hold nothing private but what the cell itself put
#: there, and none of their methods reads or writes attributes of others by a name that a derived class chooses.
#: Counter-examples, left out: pprint.PrettyPrinter (its `_stream` is sys.stdout), functools.cached_property (it
#: writes the key of its choice into any instance it is read from), contextlib.ExitStack, random.Random.
_DERIVABLE = {
    "abc": "ABC",
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "collections.abc": "*",
    "contextlib": "AbstractContextManager ContextDecorator",
    "csv": "Dialect",
    "datetime": "date datetime time timedelta tzinfo",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum IntFlag StrEnum",
    "fractions": "Fraction",
    "json": "JSONDecodeError JSONDecoder JSONEncoder",
    "types": "SimpleNamespace",
    "typing": "Generic NamedTuple Protocol TypedDict",
}


def is_class(value: object) -> bool:
    """Whether `value` is a class; isinstance() would believe what the value says about itself."""
    return issubclass(type(value), type)


def _derivable() -> frozenset[type]:
    found: set[Any] = set(_BASES) | {BaseException}
    for module, listed in _DERIVABLE.items():
        facade = facades.load(module)
        for name in dir(facade) if listed == "*" else listed.split():
            # With all their bases: the facade's enum.Enum derives from the real one.
            for kind in types.resolve_bases((getattr(facade, name),)):
                found.update(_order_of(kind))
    return frozenset(found)


FOREIGN_BASES = _derivable()


def is_own(kind: type) -> bool:
    """Whether a cell defined the class `kind`, and nothing but derivable classes is behind it."""
    return _made_here(kind) and all(_made_here(each) or each in FOREIGN_BASES for each in _order_of(kind))


#: Private names of derivable classes that may be read all the same: hooks of Enum, and an opaque record of ABC.
_OPEN = frozenset({"_missing_", "_generate_next_value_", "_abc_impl"})


def has_no_foreign_privates(kind: type) -> bool:
    """Whether every private name on instances of the own class `kind` is the cell's."""
    return not any(
        names.is_private(name) and not names.is_dunder(name) and name not in _OPEN
        for each in _order_of(kind)
        if not _made_here(each)
        for name in _members_of(each)
    )


def opens(kind: type, name: str, *, on_class: bool = False, on_super: bool = False) -> bool:
    """Whether the private `name` of the own class `kind` leads to what the cell made.

    On the class itself its metaclass answers too: an enum's `_convert_` reads the namespace of any module. A super()
    skips classes, so that there nothing foreign may have the name.
    """
    if name in _OPEN:
        return True
    if on_class and stored(type(kind), name) is not None:
        return False
    holders = [each for each in _order_of(kind) if name in _members_of(each)]
    return all(map(_made_here, holders if on_super else holders[:1]))


def _made_here(kind: type) -> bool:
    return bool(_members_of(kind).get("__module__") == CELL)


def members_of(kind: type) -> dict[str, Any]:
    """A copy of the class's own namespace without what the interpreter keeps there."""
    return {name: value for name, value in _members_of(kind).items() if not name.startswith("__")}


def stored(kind: type, name: str) -> Any:
    """What `kind` or a base of it holds as `name`, as it is stored: no descriptor, no hook runs. None if nothing."""
    for each in _order_of(kind):
        found = _members_of(each).get(name)
        if found is not None:
            return found
    return None


class _StandIn(type):
    """The type of classes that stand for one that no cell gets: they answer for it, and cannot be called as it."""

    def __call__(cls, *values: Any, **options: Any) -> Any:
        if cls is not Kind:
            raise RuleViolation("type-call", f"{cls.__name__} makes no objects here; write a def or a lambda")
        if len(values) != 1 or options:
            raise RuleViolation("type-call", "type() takes one value here; define classes with a class statement")
        kind = type(values[0])
        if issubclass(kind, type):
            return Kind
        return Function if kind is types.FunctionType else kind

    def __instancecheck__(cls, value: object) -> bool:
        return issubclass(type(value), _STANDS_FOR[cls])

    def __subclasscheck__(cls, kind: Any) -> bool:
        return kind is cls or (is_class(kind) and issubclass(kind, _STANDS_FOR[cls]))

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


class Kind(metaclass=_StandIn):
    """`type` for cells: one argument only, and the type of a class is this very object, never the real one."""

    __slots__ = ()

    def __class_getitem__(cls, item: Any) -> types.GenericAlias:
        return types.GenericAlias(cls, item)


class Function(metaclass=_StandIn):
    """The type of functions, for cells. The real one makes functions out of code objects."""

    __slots__ = ()


_STANDS_FOR: dict[type, type] = {Kind: type, Function: types.FunctionType}
for _named, _title in ((Kind, "type"), (_StandIn, "type"), (Function, "function")):
    _named.__name__ = _named.__qualname__ = _title
    _named.__module__ = "builtins"


def class_builder(known: set[type]) -> Callable[..., Any]:
    """The `__build_class__` of cells. `known` collects the classes on whose instances every private name is own."""
    build = builtins.__build_class__

    def build_class(body: Any, name: str, /, *bases: Any, **options: Any) -> Any:
        if "metaclass" in options:
            raise RuleViolation("metaclass", "metaclasses are not supported; use a class decorator")
        if bases:
            _check_bases(bases)
        made = build(body, name, *bases, **options)
        if is_class(made):
            if not is_own(made):
                raise RuleViolation(
                    "class-base", "a class cannot have these bases here; keep one in an attribute instead"
                )
            if has_no_foreign_privates(made):
                known.add(made)
        return made

    return build_class


def _check_bases(bases: tuple[Any, ...]) -> None:
    for base in bases:
        if not is_class(base) and _made_here(type(base)):
            # It could answer `__mro_entries__` differently the second time it is asked.
            raise RuleViolation("class-base", "a class derives from classes, not from instances of your own classes")
    for base in types.resolve_bases(bases):
        if not is_class(base):
            raise RuleViolation("class-base", "a class derives from classes; this base is none")
        if not (base in FOREIGN_BASES or is_own(base)):
            shown = names.shown(type.__getattribute__(base, "__name__"))
            raise RuleViolation(
                "class-base", f"a class cannot derive from {shown} here; keep one in an attribute instead"
            )
