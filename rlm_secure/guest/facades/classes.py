"""Classes: dataclasses, enum, typing, types, abc."""

from __future__ import annotations

import abc
import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from .checks import CELL, identifier, is_class, own_class, own_function
from .copying import deepcopy
from .facade import facade

# ---- dataclasses -----------------------------------------------------------------------------------------------


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass, on classes that a cell defined.

    The original builds source text from the keys of `__annotations__`, and takes those from whatever it is given: an
    object that answers for itself could put code there. Here it gets a real class with checked field names.
    """
    if cls is None:
        return lambda decorated: _decorate(decorated, options)
    return _decorate(cls, options)


def _decorate(cls: Any, options: Mapping[str, Any]) -> Any:
    if not own_class(cls):
        raise TypeError("dataclasses.dataclass decorates a class that was defined in a cell.")
    names = type.__getattribute__(cls, "__dict__").get("__annotations__", {})
    if type(names) is not dict:
        raise TypeError("dataclasses.dataclass takes a class whose fields are annotated names.")
    for name in names:
        identifier(name, "dataclasses.dataclass", private=True)
    if cls.__doc__ is None:
        # Without a docstring the original makes one from inspect.signature, which evaluates text on some objects.
        cls.__doc__ = cls.__name__
    return dataclasses.dataclass(**options)(cls)


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    bases: tuple[type, ...] = (),
    **options: Any,
) -> Any:
    """dataclasses.make_dataclass without `namespace` and `module`, deriving from classes of cells only."""
    if refused := options.keys() & {"namespace", "module"}:
        raise TypeError(f"dataclasses.make_dataclass takes no {sorted(refused)[0]} here; write a class statement.")
    if type(bases) is not tuple or not all(map(own_class, bases)):
        raise TypeError("dataclasses.make_dataclass takes bases as a tuple of classes that were defined in cells.")
    title = identifier(cls_name, "dataclasses.make_dataclass", private=True)
    checked = []
    for item in fields:
        parts = (item, typing.Any) if type(item) is str else tuple(item)
        checked.append((identifier(parts[0], "dataclasses.make_dataclass"), *parts[1:]))
    where: dict[str, Any] = {"namespace": {"__module__": CELL}} if sys.version_info < (3, 12) else {"module": CELL}
    return dataclasses.make_dataclass(title, checked, bases=bases, **where, **options)


def fields(class_or_instance: Any) -> tuple[dataclasses.Field[Any], ...]:
    """dataclasses.fields, where they really are fields: an object can only pose as having some."""
    found = dataclasses.fields(class_or_instance)
    for item in found:
        if type(item) is not dataclasses.Field or item.name.startswith("__"):
            raise TypeError("dataclasses.fields takes a class that dataclasses.dataclass decorated.")
    return found


def asdict(obj: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """dataclasses.asdict; leaves are copied by the facade's deepcopy, which runs no reduce hooks of cells."""
    _require_instance(obj, "asdict")
    return _convert(obj, lambda pairs: dict_factory(pairs))


def astuple(obj: Any, *, tuple_factory: Callable[[list[Any]], Any] = tuple) -> Any:
    """dataclasses.astuple; leaves are copied as in asdict."""
    _require_instance(obj, "astuple")
    return _convert(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def replace(obj: Any, /, **changes: Any) -> Any:
    """dataclasses.replace, of real dataclass instances."""
    _require_instance(obj, "replace")
    return dataclasses.replace(obj, **changes)


def _is_instance(obj: Any) -> bool:
    return not is_class(obj) and dataclasses.is_dataclass(type(obj))


def _require_instance(obj: Any, asked: str) -> None:
    if not _is_instance(obj):
        raise TypeError(f"{asked}() should be called on dataclass instances")
    fields(type(obj))


def _convert(value: Any, build: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    kind = type(value)
    if _is_instance(value):
        return build([(item.name, _convert(getattr(value, item.name), build)) for item in fields(kind)])
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(*[_convert(item, build) for item in value])
    if issubclass(kind, list | tuple):
        return kind(_convert(item, build) for item in value)
    if issubclass(kind, dict):
        pairs = [(_convert(key, build), _convert(item, build)) for key, item in value.items()]
        if hasattr(kind, "default_factory"):  # a defaultdict takes its factory first
            made = kind(value.default_factory)
            made.update(pairs)
            return made
        return kind(pairs)
    return deepcopy(value)


DATACLASSES = facade(
    "dataclasses",
    dataclasses,
    take="FrozenInstanceError InitVar KW_ONLY MISSING field is_dataclass",
    own={
        "asdict": asdict,
        "astuple": astuple,
        "dataclass": dataclass,
        "fields": fields,
        "make_dataclass": make_dataclass,
        "replace": replace,
    },
    left_out={
        "Field": "dataclasses.field makes one",
        "abc builtins copy functools inspect itertools keyword re sys types": "a module",
    },
)

# ---- enum ------------------------------------------------------------------------------------------------------


class _CellEnumType(enum.EnumType):
    """The metaclass of the enums below: its call form takes names and values, and nothing else.

    The original's takes `module`, `qualname` and any attribute names, dunders included: a class maker.
    """

    def __call__(cls, *args: Any, **options: Any) -> Any:
        # With members, several values are one tuple to look up; 3.11 would take the second as names.
        if not options and (len(args) == 1 or (cls._member_map_ and sys.version_info >= (3, 12))):
            return super().__call__(*args)
        if len(args) > 2 or options.keys() - {"value", "names", "start"}:
            raise TypeError(f"{cls.__name__}(...) takes a name, the members and start; write a class statement.")
        given = dict(zip(("value", "names"), args, strict=False), **options)
        title = identifier(given.get("value"), cls.__name__, private=True)
        names = given.get("names", ())
        if type(names) is str:
            names = names.replace(",", " ").split()
        pairs: Any = list(names.items()) if type(names) is dict else list(names)
        checked: Any = []
        for item in pairs:
            if type(item) is str:
                checked.append(identifier(item, cls.__name__))
            else:
                name, value = item
                checked.append((identifier(name, cls.__name__), value))
        return enum.EnumType._create_(cls, title, checked, module=CELL, start=given.get("start", 1))  # type: ignore[attr-defined]

    def _create_(cls, *_args: Any, **_options: Any) -> NoReturn:
        """Refused: the class maker itself."""
        raise TypeError("an enum is made by its call form or by a class statement.")

    def _convert_(cls, *_args: Any, **_options: Any) -> NoReturn:
        """Refused: it makes an enum out of the contents of any loaded module, os included."""
        raise TypeError("an enum is made by its call form or by a class statement.")


class Enum(enum.Enum, metaclass=_CellEnumType):
    pass


class IntEnum(enum.IntEnum, metaclass=_CellEnumType):
    pass


class StrEnum(enum.StrEnum, metaclass=_CellEnumType):
    pass


class Flag(enum.Flag, metaclass=_CellEnumType):
    pass


class IntFlag(enum.IntFlag, metaclass=_CellEnumType):
    pass


for _kind in (Enum, IntEnum, StrEnum, Flag, IntFlag):
    _kind.__module__ = "enum"

ENUM = facade(
    "enum",
    enum,
    take="CONFORM CONTINUOUS EJECT KEEP NAMED_FLAGS STRICT UNIQUE auto member nonmember unique verify",
    own={"Enum": Enum, "IntEnum": IntEnum, "StrEnum": StrEnum, "Flag": Flag, "IntFlag": IntFlag},
    left_out={
        "EnumMeta EnumType": "a metaclass makes classes with any attribute",
        "EnumCheck EnumDict FlagBoundary ReprEnum pickle_by_enum_name pickle_by_global_name": "internal",
        "global_enum global_enum_repr global_flag_repr global_str": "they write into the namespace of a module",
        "property": "use the builtin property",
        "bltns sys": "a module",
    },
)

# ---- typing ----------------------------------------------------------------------------------------------------


def _unchanged(function: Any) -> Any:
    """What a marker decorator does here: the original sets an attribute on anything that it is given."""
    return function


def get_origin(tp: Any) -> Any:
    """typing.get_origin, which never answers with `type` itself: that one makes classes out of strings."""
    origin = typing.get_origin(tp)
    return typing.Type if origin is type else origin  # noqa: UP006 - the alias, not the class


_SIGNATURES = (
    "AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable "
    "Callable ChainMap ClassVar Collection Concatenate Container ContextManager Coroutine Counter DefaultDict Deque "
    "Dict Final FrozenSet Generator Generic Hashable ItemsView Iterable Iterator KeysView List Literal LiteralString "
    "Mapping MappingView Match MutableMapping MutableSequence MutableSet Never NoReturn NotRequired Optional "
    "OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs Pattern Protocol Required Reversible Self Sequence Set Sized "
    "SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING "
    "Text Tuple Type TypeAlias TypeGuard TypeVar TypeVarTuple Union Unpack ValuesView"
)

TYPING = facade(
    "typing",
    typing,
    # NamedTuple and TypedDict go through collections.namedtuple's own checks, and through dict.
    take=f"{_SIGNATURES} NamedTuple NewType TypedDict assert_never assert_type cast get_args is_typeddict "
    "runtime_checkable",
    newer="NoDefault ReadOnly TypeAliasType TypeIs get_protocol_members is_protocol",
    own={"final": _unchanged, "get_origin": get_origin, "overload": _unchanged, "override": _unchanged},
    left_out={
        "ForwardRef get_type_hints": "it evaluates annotations that are strings",
        "no_type_check no_type_check_decorator dataclass_transform": "it writes attributes on what it is given",
        "clear_overloads get_overloads": "overloads are not recorded here",
        "IO BinaryIO TextIO": "there are no files",
        "ByteString": "deprecated; use (bytes, bytearray)",
        "reveal_type": "it prints past the cell's print",
    },
)

# ---- types -----------------------------------------------------------------------------------------------------

TYPES = facade(
    "types",
    types,
    take="EllipsisType GeneratorType MappingProxyType NoneType NotImplementedType SimpleNamespace UnionType",
    left_out={
        "get_original_bases": "it leads from a class to classes that nobody handed out, BaseException among them",
        "CellType CodeType FunctionType LambdaType": "they make functions out of code",
        "FrameType TracebackType AsyncGeneratorType CoroutineType": "the interpreter's own records of running code",
        "ModuleType": "there are no modules to make",
        "new_class prepare_class resolve_bases": "they make classes with any attribute; write a class statement",
        "BuiltinFunctionType BuiltinMethodType CapsuleType ClassMethodDescriptorType DynamicClassAttribute "
        "GetSetDescriptorType MemberDescriptorType MethodDescriptorType MethodType MethodWrapperType "
        "WrapperDescriptorType": "descriptors read and write attributes past the guards; use callable(x)",
        "GenericAlias coroutine": "internal",
    },
)

# ---- abc -------------------------------------------------------------------------------------------------------


def abstractmethod(function: Any) -> Any:
    """abc.abstractmethod, on what a def in a cell makes: it sets an attribute on what it is given."""
    if not own_function(function) and type(function) not in (classmethod, staticmethod):
        raise TypeError("abc.abstractmethod decorates a method that was written with def in a cell.")
    return abc.abstractmethod(function)


ABC = facade(
    "abc",
    abc,
    take="ABC",
    own={"abstractmethod": abstractmethod},
    left_out={
        "abstractclassmethod abstractproperty abstractstaticmethod": "deprecated; put abstractmethod under property, "
        "classmethod or staticmethod",
        "ABCMeta": "a metaclass makes classes with any attribute; derive from abc.ABC",
        "get_cache_token update_abstractmethods": "internal",
    },
)
