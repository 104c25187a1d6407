"""Classes: typing, types, abc."""

from __future__ import annotations

import abc
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from ..registry import CELL, namespace_of, own_class, own_function, register
from .checks import identifier
from .facade import facade
from .generated import record

# ---- typing ----------------------------------------------------------------------------------------------------


def _unchanged(function: Any) -> Any:
    """A marker decorator that changes nothing: the original sets an attribute on any object."""
    return function


def get_origin(tp: Any) -> Any:
    """typing.get_origin, except that it never returns `type` itself, which can create classes from strings."""
    origin = typing.get_origin(tp)
    return typing.Type if origin is type else origin  # noqa: UP006 - the alias, not the class


_typing: Any = typing  # a type checker knows NamedTuple and TypedDict as statements only
# typing would set that of a body on the class later, after hooks have received it and a pattern's guard has checked it.
_typing._prohibited |= {"__match_args__"}


def NamedTuple(typename: str, fields: Iterable[tuple[str, Any]] = (), /, **named: Any) -> Any:
    """typing.NamedTuple as a call; in a class statement it stands for what the original stands for."""
    name = identifier(typename, "typing.NamedTuple", private=True)
    pairs = [(identifier(field, "typing.NamedTuple"), kind) for field, kind in (*fields, *named.items())]
    return record(_typing.NamedTuple(name, pairs))


def TypedDict(typename: str, fields: Mapping[str, Any], /, *, total: bool = True) -> Any:
    """typing.TypedDict as a call; in a class statement it stands for what the original stands for."""
    name = identifier(typename, "typing.TypedDict", private=True)
    every = bool(total)
    if type(fields) is not dict or not all(type(key) is str for key in fields):
        raise TypeError("typing.TypedDict takes the fields as a dict from names to types.")
    made = _typing.TypedDict(name, dict(fields), total=every)
    type.__setattr__(made, "__module__", CELL)
    return register(made)


def _stands_for(function: Any, original: Any) -> None:
    resolved = types.resolve_bases((original,))
    function.__mro_entries__ = lambda _bases: resolved
    function.__module__, function.__qualname__ = "typing", function.__name__


_stands_for(NamedTuple, typing.NamedTuple)
_stands_for(TypedDict, typing.TypedDict)


def runtime_checkable(cls: Any) -> Any:
    """typing.runtime_checkable, for protocols that a cell defined, because it sets an attribute on the class."""
    if not own_class(cls):
        raise TypeError("typing.runtime_checkable decorates a protocol that was defined in a cell.")
    _before = dict(namespace_of(cls))  # keeps overwritten values alive until it is done
    return typing.runtime_checkable(cls)


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
    take=f"{_SIGNATURES} NewType assert_never assert_type cast get_args is_typeddict",
    newer="NoDefault ReadOnly TypeAliasType TypeIs get_protocol_members is_protocol",
    own={
        "NamedTuple": NamedTuple,
        "TypedDict": TypedDict,
        "final": _unchanged,
        "get_origin": get_origin,
        "overload": _unchanged,
        "override": _unchanged,
        "runtime_checkable": runtime_checkable,
    },
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
    """abc.abstractmethod, for functions that a cell defined, because it sets an attribute on its argument."""
    if not own_function(function) and type(function) not in (classmethod, staticmethod):
        raise TypeError("abc.abstractmethod decorates a method that was written with def in a cell.")
    return abc.abstractmethod(function)


class ABCMeta:
    """Stands for abc.ABCMeta in `class A(metaclass=ABCMeta)`. It makes nothing itself."""

    __slots__ = ()

    def __new__(cls, *_values: object, **_options: object) -> Any:
        raise TypeError("abc.ABCMeta makes no classes here; write class A(metaclass=ABCMeta).")


ABCMeta.__module__ = "abc"

ABC = facade(
    "abc",
    abc,
    take="ABC",
    own={"ABCMeta": ABCMeta, "abstractmethod": abstractmethod},
    left_out={
        "abstractclassmethod abstractproperty abstractstaticmethod": "deprecated; put abstractmethod under property, "
        "classmethod or staticmethod",
        "get_cache_token update_abstractmethods": "internal",
    },
)
