"""The facade of dataclasses, for classes of cells.

The original generates source text from a class body, and calls methods of the objects in it more than once. So it gets
exact copies of the checked objects. Its functions later look up fields in the class or the instance; those below use a
table of decorated classes instead, by identity.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import pprint
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..names import REGISTRAR, is_positional, is_public
from ..registry import (
    CELL,
    derives,
    finish,
    globals_of,
    is_class,
    is_instance,
    namespace_of,
    order_of,
    own_class,
    register,
    registrar,
    stored,
    table,
    title,
)
from .checks import identifier
from .classes import TYPING
from .copying import deepcopy
from .facade import Facade, facade
from .generated import Dataclass, check_names, copied, put_checks_into_dataclasses

_REGISTRAR = registrar(None)  # for classes that are created without a class statement
_OPTIONS = frozenset(dataclasses.dataclass.__kwdefaults__ or ())


class _Field(NamedTuple):
    """A field as it was when its class was decorated."""

    name: str
    role: Any  # dataclasses._FIELD, _FIELD_INITVAR or _FIELD_CLASSVAR
    in_init: bool
    required: bool
    closed: bool  # whether cells may not read the name from every object
    shown: dataclasses.Field[Any]  # the result of fields(); no method is generated from it


#: The fields of each decorated class, inherited ones among them: `_keep(kind, fields)` and `_kept(kind)`.
_keep: Callable[[type, tuple[_Field, ...]], None]
_kept: Callable[[type], tuple[_Field, ...] | None]
_keep, _kept = table()


def dataclass(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass, on classes that a cell defined.

    The original builds source text from the keys of `__annotations__` of any object. An object with hooks could insert
    code there. Here the original always gets a real class with checked field names.
    """
    flags = _flags(options)
    if cls is None:
        return lambda decorated: _decorate(decorated, flags)
    return _decorate(cls, flags)


def _flags(options: Mapping[str, Any]) -> dict[str, bool]:
    """`options` of dataclass as plain names and plain bool, because an object could change between reads."""
    for name in options:
        if type(name) is not str or name not in _OPTIONS:
            raise TypeError(f"dataclasses.dataclass takes the options {', '.join(sorted(_OPTIONS))}; leave others out.")
    return {name: bool(value) for name, value in options.items()}


def _decorate(cls: Any, flags: Mapping[str, bool]) -> Any:
    if not own_class(cls):
        raise TypeError("dataclasses.dataclass decorates a class that was defined in a cell.")
    before = dict(namespace_of(cls))
    annotations = before.get("__annotations__", {})
    if type(annotations) is not dict:
        raise TypeError("dataclasses.dataclass takes a class whose fields are annotated names.")
    for name in annotations:
        identifier(name, "dataclasses.dataclass", private=True)
    doc = before.get("__doc__")
    if doc is None or (type(doc) is str and not doc):  # the original makes one out of the signature
        type.__setattr__(cls, "__doc__", title(cls))
    elif type(doc) is not str:
        raise TypeError("dataclasses.dataclass takes a class whose __doc__ is text.")
    by_position = flags.get("match_args", True) and "__match_args__" not in before
    markers = _markers(annotations, globals_of(cls))
    spelled = {name: annotations[name] for name in markers}
    inherited = (name for base in order_of(cls) for name in namespace_of(base).get("__dataclass_fields__", ()))
    closed = {name for name in (*annotations, *inherited) if not is_public(name)}
    check_names(cls, closed)
    annotations.update(markers)
    try:
        with Dataclass(cls, closed) as generated:
            made = dataclasses.dataclass(**{**flags, "match_args": False})(cls)
    finally:
        annotations.update(spelled)
    found = namespace_of(made)["__dataclass_fields__"]
    for name, item in found.items():
        if name in spelled and item.type is markers[name]:
            item.type = spelled[name]
    register(made)
    positional = tuple(
        name
        for name, item in found.items()
        if item._field_type in (_FIELD, _INIT_ONLY) and item.init and not item.kw_only
    )
    if by_position and all(map(is_positional, positional)):
        # After every class statement is judged by its own, no class gains any but these.
        type.__setattr__(made, "__match_args__", positional)
    kept = tuple(
        _Field(
            name,
            item._field_type,
            item.init,
            item.default is dataclasses.MISSING,
            not is_public(name),
            copied(item),
        )
        for name, item in found.items()
    )
    _keep(made, kept)
    for name, method in (("__replace__", replace), ("__getstate__", _getstate), ("__setstate__", _setstate)):
        if name in namespace_of(made) and name not in before:  # the original asks the instance for its fields
            type.__setattr__(made, name, method)
    generated.keep(made)
    finish(made)
    return made


#: As dataclasses reads an annotation that is text: a name, or a name in a module.
_HEAD = re.compile(r"(?:\s*(\w+)\s*\.)?\s*(\w+)")
_FACADES: dict[str, Facade] = {"typing": TYPING}  # by name: what a cell's `import typing` binds
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
    flags = _flags(options)
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
    return _decorate(types.new_class(class_name, bases, {}, lambda body: body.update(namespace)), flags)


def _fields_of(kind: type) -> tuple[_Field, ...] | None:
    """The fields of `kind`, or of its first base that was decorated; None for a class that is no dataclass.

    From the table, because an instance, its attributes or a metaclass could return anything.
    """
    for each in order_of(kind):
        if (kept := _kept(each)) is not None:
            return kept
    return None


def is_dataclass(obj: Any) -> bool:
    """dataclasses.is_dataclass."""
    return _fields_of(obj if is_class(obj) else type(obj)) is not None


def fields(class_or_instance: Any) -> tuple[dataclasses.Field[Any], ...]:
    """dataclasses.fields."""
    found = _fields_of(class_or_instance if is_class(class_or_instance) else type(class_or_instance))
    if found is None:
        raise TypeError("must be called with a dataclass type or instance")
    return tuple(field.shown for field in found if field.role is _FIELD)


_FIELD: Any = dataclasses._FIELD  # type: ignore[attr-defined]
_INIT_ONLY: Any = dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]
_OF_CLASS: Any = dataclasses._FIELD_CLASSVAR  # type: ignore[attr-defined]


def _names(obj: Any, asked: str) -> list[str]:
    """The names of the fields of the instance `obj`, all of which a cell may read from it."""
    found = _instance_fields(obj, asked)
    check_names(type(obj), [field.name for field in found if field.closed])
    return [field.name for field in found if field.role is _FIELD]


def _instance_fields(obj: Any, asked: str) -> tuple[_Field, ...]:
    found = None if is_class(obj) else _fields_of(type(obj))
    if found is None:
        raise TypeError(f"{asked}() should be called on dataclass instances")
    return found


def asdict(obj: Any, *, dict_factory: Callable[[list[tuple[str, Any]]], Any] = dict) -> Any:
    """dataclasses.asdict; leaves are copied by the facade's deepcopy, which runs no reduce hooks of cells."""
    _instance_fields(obj, "asdict")
    return _convert(obj, lambda pairs: dict_factory(pairs))


def astuple(obj: Any, *, tuple_factory: Callable[[list[Any]], Any] = tuple) -> Any:
    """dataclasses.astuple; leaves are copied as in asdict."""
    _instance_fields(obj, "astuple")
    return _convert(obj, lambda pairs: tuple_factory([value for _, value in pairs]))


def replace(obj: Any, /, **changes: Any) -> Any:
    """dataclasses.replace, of the fields that the class was decorated with."""
    for field in _instance_fields(obj, "replace"):
        if field.role is _OF_CLASS:
            continue
        if not field.in_init:
            if field.name in changes:
                raise TypeError(
                    f"field {field.name} is declared with init=False, it cannot be specified with replace()"
                )
            continue
        if field.name not in changes:
            if field.role is _INIT_ONLY and field.required:
                raise TypeError(f"InitVar {field.name!r} must be specified with replace()")
            if field.closed:
                check_names(type(obj), [field.name])
            changes[field.name] = getattr(obj, field.name)
    return type(obj)(**changes)


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _names(self, "copy")]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(_names(self, "copy"), state, strict=True):
        object.__setattr__(self, name, value)  # a frozen instance


def _convert(value: Any, build: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    kind = type(value)
    if not is_class(value) and _fields_of(kind) is not None:
        return build([(name, _convert(getattr(value, name), build)) for name in _names(value, "asdict")])
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


def _repr_of_a_member(value: Any) -> str:
    """The fields of `value`, in the repr of an enum's member that has a dataclass as its value."""
    if is_class(value) or _fields_of(type(value)) is None:
        library = stored(type(value), "__dataclass_fields__") is not None
        return _its_repr(value) if library else repr(value)
    names = set(_names(value, "repr"))
    shown = [field.name for field in _instance_fields(value, "repr") if field.name in names and field.shown.repr]
    return ", ".join(f"{name}={getattr(value, name)!r}" for name in shown)


def _printed(value: Any) -> list[Any]:
    """The fields of the instance `value` for pprint, by their own names: what fields() answers can be renamed."""
    names = set(_names(value, "pprint"))
    return [
        types.SimpleNamespace(name=field.name, repr=field.shown.repr is True)
        for field in _instance_fields(value, "pprint")
        if field.name in names
    ]


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

_FACADES["dataclasses"] = DATACLASSES

# Library code that reads the fields of instances goes by the table, too.
put_checks_into_dataclasses()
pprint._dataclasses = types.SimpleNamespace(fields=_printed, is_dataclass=is_dataclass)  # type: ignore[attr-defined]
_its_repr: Any = getattr(enum, "_dataclass_repr", None)
if _its_repr is not None:  # from Python 3.12 on
    enum._dataclass_repr = _repr_of_a_member  # type: ignore[attr-defined]
