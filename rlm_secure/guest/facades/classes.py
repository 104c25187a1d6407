"""Classes: dataclasses, enum, typing, types, abc."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from ..names import REGISTRAR, is_public
from ..registry import (
    CELL,
    admit_metaclass,
    derives,
    globals_of,
    is_class,
    is_instance,
    namespace_of,
    own_class,
    own_function,
    register,
    registrar,
    stored,
    title,
)
from .checks import identifier
from .copying import deepcopy
from .facade import Facade, facade
from .generated import Dataclass, put_checks_into_dataclasses, record

# ---- dataclasses -----------------------------------------------------------------------------------------------


put_checks_into_dataclasses()
_REGISTRAR = registrar(None)  # of classes that no class statement makes


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
    before = dict(namespace_of(cls))
    annotations = before.get("__annotations__", {})
    if type(annotations) is not dict:
        raise TypeError("dataclasses.dataclass takes a class whose fields are annotated names.")
    for name in annotations:
        identifier(name, "dataclasses.dataclass", private=True)
    doc = before.get("__doc__")
    if doc is None or (type(doc) is str and not doc):
        # Without one the original asks inspect.signature, which compares `__init__` and `__new__` with `type`: a
        # callable of a cell's in their place is handed it by its `__eq__`.
        type.__setattr__(cls, "__doc__", title(cls))
    elif type(doc) is not str:
        raise TypeError("dataclasses.dataclass takes a class whose __doc__ is text.")
    options = dict(options)
    if not all(map(is_public, annotations)):
        options["match_args"] = False  # a pattern by position reads public attributes only
    if options.get("slots"):  # then a second class is made, whose hooks see it before anybody else does
        type.__setattr__(cls, REGISTRAR, registrar(globals_of(cls)))
    markers = _markers(annotations, globals_of(cls))
    spelled = {name: annotations[name] for name in markers}
    annotations.update(markers)
    try:
        with Dataclass(cls) as generated:
            made = dataclasses.dataclass(**options)(cls)
    finally:
        annotations.update(spelled)
        if REGISTRAR in namespace_of(cls):
            type.__delattr__(cls, REGISTRAR)
    for name, item in namespace_of(made)["__dataclass_fields__"].items():
        if name in spelled and item.type is markers[name]:
            item.type = spelled[name]
    register(made)
    for name, method in (("__replace__", replace), ("__getstate__", _getstate), ("__setstate__", _setstate)):
        if name in namespace_of(made) and name not in before:  # the original asks the instance for its fields
            type.__setattr__(made, name, method)
    generated.keep(made)
    return made


#: As dataclasses reads an annotation that is text: a name, or a name in a module.
_HEAD = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")
_FACADES: dict[str, Facade] = {}  # by name: what a cell's `import typing` binds
_MARKERS: dict[str, tuple[str, Any]] = {
    "ClassVar": ("typing", typing.ClassVar),
    "InitVar": ("dataclasses", dataclasses.InitVar),
    "KW_ONLY": ("dataclasses", dataclasses.KW_ONLY),
}


def _markers(annotations: Mapping[str, Any], space: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those of the `annotations` that are text and mean ClassVar, InitVar or KW_ONLY, with what they mean.

    The original looks the names up in the module that the class says it is from. A cell's names are in `space`, the
    globals of its session; nothing is evaluated.
    """
    found = {}
    for name, text in annotations.items():
        if type(text) is not str:
            if is_instance(text, str):
                raise TypeError(f"dataclasses.dataclass takes annotations as types or plain text, not as {name!r} has.")
            continue
        head = _HEAD.match(text)
        if head is None:
            continue
        module, word = head.groups()
        if space is None:
            if word in _MARKERS:
                raise TypeError(f"dataclasses.make_dataclass takes {word} itself, not the text {text[:80]!r}.")
            continue
        if module is not None:
            home, marker = _MARKERS.get(word, ("", None))
            means = marker if home and space.get(module) is _FACADES.get(home) else None
        else:
            means = _marker(space.get(word))
        if means is not None:
            found[name] = means
    return found


def _marker(value: Any) -> Any:
    """ClassVar, InitVar or KW_ONLY, if `value` is one of them, with or without a type in brackets."""
    for _, marker in _MARKERS.values():
        if value is marker:
            return marker
    if type(value) is dataclasses.InitVar:
        return dataclasses.InitVar
    if type(value) is _ALIAS and object.__getattribute__(value, "__origin__") is typing.ClassVar:
        return typing.ClassVar
    return None


_ALIAS = type(typing.ClassVar[int])


def make_dataclass(
    cls_name: str,
    fields: Iterable[Any],
    *,
    bases: tuple[type, ...] = (),
    **options: Any,
) -> Any:
    """dataclasses.make_dataclass without `namespace` and `module`, deriving from classes of cells only."""
    for refused in ("namespace", "module", "decorator"):
        if refused in options:
            raise TypeError(f"dataclasses.make_dataclass takes no {refused} here; write a class statement.")
    if type(bases) is not tuple or not all(map(own_class, bases)):
        raise TypeError("dataclasses.make_dataclass takes bases as a tuple of classes that were defined in cells.")
    class_name = identifier(cls_name, "dataclasses.make_dataclass", private=True)
    namespace: dict[str, Any] = {REGISTRAR: _REGISTRAR, "__module__": CELL}
    annotations: dict[str, Any] = {}
    for item in fields:
        parts = (item, typing.Any) if type(item) is str else tuple(item)
        if len(parts) not in (2, 3):
            raise TypeError("dataclasses.make_dataclass takes a field as a name, (name, type) or (name, type, field).")
        name = identifier(parts[0], "dataclasses.make_dataclass")
        if name in annotations:
            raise TypeError(f"Field name duplicated: {name!r}")
        annotations[name] = parts[1]
        if len(parts) == 3:
            namespace[name] = parts[2]
    namespace["__annotations__"] = annotations
    return _decorate(types.new_class(class_name, bases, {}, lambda body: body.update(namespace)), options)


def _stored_fields(kind: type) -> dict[str, dataclasses.Field[Any]] | None:
    """What dataclasses wrote into the class; an instance or a metaclass could answer for itself."""
    found: dict[str, dataclasses.Field[Any]] | None = stored(kind, "__dataclass_fields__")
    return found


def is_dataclass(obj: Any) -> bool:
    """dataclasses.is_dataclass."""
    return _stored_fields(obj if is_class(obj) else type(obj)) is not None


def fields(class_or_instance: Any) -> tuple[dataclasses.Field[Any], ...]:
    """dataclasses.fields."""
    found = _stored_fields(class_or_instance if is_class(class_or_instance) else type(class_or_instance))
    if found is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(item for item in found.values() if item._field_type is dataclasses._FIELD)  # type: ignore[attr-defined]


def asdict(obj: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """dataclasses.asdict; leaves are copied by the facade's deepcopy, which runs no reduce hooks of cells."""
    _require_instance(obj, "asdict")
    return _convert(obj, lambda pairs: dict_factory(pairs))


def astuple(obj: Any, *, tuple_factory: Callable[[list[Any]], Any] = tuple) -> Any:
    """dataclasses.astuple; leaves are copied as in asdict."""
    _require_instance(obj, "astuple")
    return _convert(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def replace(obj: Any, /, **changes: Any) -> Any:
    """dataclasses.replace, of the fields that the class was decorated with."""
    _require_instance(obj, "replace")
    for item in (_stored_fields(type(obj)) or {}).values():
        if item._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if not item.init:
            if item.name in changes:
                raise TypeError(f"field {item.name} is declared with init=False, it cannot be specified with replace()")
            continue
        if item.name not in changes:
            if item._field_type is dataclasses._FIELD_INITVAR and item.default is dataclasses.MISSING:  # type: ignore[attr-defined]
                raise TypeError(f"InitVar {item.name!r} must be specified with replace()")
            changes[item.name] = getattr(obj, item.name)
    return type(obj)(**changes)


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, item.name) for item in fields(type(self))]


def _setstate(self: Any, state: list[Any]) -> None:
    for item, value in zip(fields(type(self)), state, strict=True):
        object.__setattr__(self, item.name, value)  # a frozen instance


def _is_instance(obj: Any) -> bool:
    return not is_class(obj) and _stored_fields(type(obj)) is not None


def _require_instance(obj: Any, asked: str) -> None:
    if not _is_instance(obj):
        raise TypeError(f"{asked}() should be called on dataclass instances")


def _convert(value: Any, build: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    kind = type(value)
    if _is_instance(value):
        return build([(item.name, _convert(getattr(value, item.name), build)) for item in fields(kind)])
    if derives(kind, tuple) and stored(kind, "_fields") is not None:
        return kind(*[_convert(item, build) for item in value])
    if derives(kind, list) or derives(kind, tuple):
        return kind(_convert(item, build) for item in value)
    if derives(kind, dict):
        pairs = [(_convert(key, build), _convert(item, build)) for key, item in value.items()]
        if derives(kind, collections.defaultdict):  # it takes its factory first
            made = kind(value.default_factory)
            made.update(pairs)
            return made
        return kind(pairs)
    return deepcopy(value)


DATACLASSES = facade(
    "dataclasses",
    dataclasses,
    take="FrozenInstanceError InitVar KW_ONLY MISSING field",
    own={
        "asdict": asdict,
        "astuple": astuple,
        "dataclass": dataclass,
        "fields": fields,
        "is_dataclass": is_dataclass,
        "make_dataclass": make_dataclass,
        "replace": replace,
    },
    left_out={
        "Field": "dataclasses.field makes one",
        "abc builtins copy functools inspect itertools keyword re sys types": "a module",
    },
)

# ---- enum ------------------------------------------------------------------------------------------------------


@admit_metaclass
class _CellEnumType(enum.EnumType):
    """The metaclass of the enums below: its call form takes names and values, and nothing else.

    The original's takes `module`, `qualname` and any attribute names, dunders included: a class maker.
    """

    @classmethod
    def __prepare__(metacls, cls: str, bases: tuple[type, ...], **options: Any) -> Any:  # type: ignore[override]
        """The namespace of a body. With a registrar: the call form has no body that could put one there."""
        made = super().__prepare__(cls, bases, **options)
        made[REGISTRAR] = _REGISTRAR
        return made

    def __new__(metacls, cls: str, bases: tuple[type, ...], classdict: Any, **options: Any) -> Any:
        """An enum whose body leaves nothing out but names: what it ignores is taken off by what the text says."""
        if not all(type(name) is str and name.isidentifier() for name in classdict.get("_ignore_", ())):
            raise TypeError("_ignore_ lists names of the enum's body as plain str.")
        return super().__new__(metacls, cls, bases, classdict, **options)

    @classmethod
    def _find_new_(metacls, classdict: Any, member_type: Any, first_enum: Any) -> Any:
        """How members are made: by what the original chooses, if that makes members.

        The original writes its records onto whatever came out, and calls `__init__` of it. It compares functions that
        cells do not have with what stands as `__new__`, which must be no object with hooks.
        """
        found = [stored(kind, "__new__") for kind in (member_type, first_enum) if kind is not None]
        if any(type(each) is staticmethod and type(each.__func__) is not types.FunctionType for each in found) or (
            not all(type(each) in (staticmethod, types.BuiltinMethodType, types.FunctionType) for each in found)
        ):
            raise TypeError("an enum takes members from a __new__ that was written with def.")
        if "__new__" in classdict and not own_function(classdict["__new__"]):
            raise TypeError("__new__ of an enum is written with def.")
        if derives(first_enum or object, enum.Flag) and own_class(member_type):
            raise TypeError("a flag takes its values from int; leave the other base out.")
        inner, save, with_values = super()._find_new_(classdict, member_type, first_enum)  # type: ignore[misc]
        if inner in (object.__new__, enum.Enum.__new__):
            return inner, save, with_values

        def new_member(cls: type, /, *values: Any) -> Any:
            member = inner(cls, *values)
            if type(member) is not cls:
                raise TypeError(f"__new__ of {title(cls)} makes no member but a {title(type(member))}.")
            return member

        return new_member, save, with_values

    def __call__(cls, *args: Any, **options: Any) -> Any:
        # With members, several values are one tuple to look up; 3.11 would take the second as names.
        if not options and (len(args) == 1 or (cls._member_map_ and sys.version_info >= (3, 12))):
            return super().__call__(*args)
        if len(args) > 2 or options.keys() - {"value", "names", "start"}:
            raise TypeError(f"{cls.__name__}(...) takes a name, the members and start; write a class statement.")
        given = dict(zip(("value", "names"), args, strict=False), **options)
        class_name = identifier(given.get("value"), cls.__name__, private=True)
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
        made = enum.EnumType._create_(cls, class_name, checked, module=CELL, start=given.get("start", 1))  # type: ignore[attr-defined]
        return register(made)

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


_typing: Any = typing  # a type checker knows NamedTuple and TypedDict as statements only


def NamedTuple(typename: str, fields: Iterable[tuple[str, Any]] = (), /, **named: Any) -> Any:
    """typing.NamedTuple as a call; in a class statement it stands for what the original stands for."""
    name = identifier(typename, "typing.NamedTuple", private=True)
    pairs = [(identifier(field, "typing.NamedTuple"), kind) for field, kind in (*fields, *named.items())]
    return record(_typing.NamedTuple(name, pairs))


def TypedDict(typename: str, fields: Mapping[str, Any], /, *, total: bool = True) -> Any:
    """typing.TypedDict as a call; in a class statement it stands for what the original stands for."""
    name = identifier(typename, "typing.TypedDict", private=True)
    if type(fields) is not dict or not all(type(key) is str for key in fields):
        raise TypeError("typing.TypedDict takes the fields as a dict from names to types.")
    made = _typing.TypedDict(name, fields, total=bool(total))
    type.__setattr__(made, "__module__", CELL)
    return register(made)


def _stands_for(function: Any, original: Any) -> None:
    resolved = types.resolve_bases((original,))
    function.__mro_entries__ = lambda _bases: resolved
    function.__module__, function.__qualname__ = "typing", function.__name__


_stands_for(NamedTuple, typing.NamedTuple)
_stands_for(TypedDict, typing.TypedDict)


def runtime_checkable(cls: Any) -> Any:
    """typing.runtime_checkable, on protocols that a cell defined: it sets an attribute on what it is given."""
    if not own_class(cls):
        raise TypeError("typing.runtime_checkable decorates a protocol that was defined in a cell.")
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

_FACADES.update(dataclasses=DATACLASSES, typing=TYPING)
