"""Restricts methods that library code generates for a cell's class to instances of that class.

They have no guards: a dataclass's `__init__` sets attributes named like its fields, and its `__repr__` reads them, on
any object that is passed as self. A cell can call such a method through the class, and library code itself calls
`__init__`, `__replace__` and comparisons on any object that a cell's `__new__` returned. So each method is wrapped
where it is stored, as soon as it exists.
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, ClassVar

from ..names import REGISTRAR
from ..registry import (
    CELL,
    globals_of,
    namespace_of,
    order_of,
    own_class,
    own_function,
    register,
    registrar,
    stored,
    title,
)
from .late import Builtins


def keep(kind: type, before: Mapping[str, Any] | None = None, *, of: Mapping[str, Any] | None = None) -> None:
    """Wrap the functions in the namespace of `kind` that no cell wrote.

    With `before`, an earlier namespace of the class, only those that have changed since; with `of`, only functions
    with these globals.
    """
    found: Iterable[tuple[str, Any]] = list(namespace_of(kind).items())
    for name, value in found:
        if not generated(value) or (before and before.get(name) is value):
            continue
        if of is None or value.__globals__ is of:
            type.__setattr__(kind, name, kept(value, kind))


def generated(value: object) -> bool:
    """Whether `value` is a function that no cell wrote."""
    return type(value) is FunctionType and not own_function(value)


def record(made: type) -> type:
    """Register `made`, a new class of collections.namedtuple, as a cell's own class, and return it."""
    type.__setattr__(made, "__module__", CELL)
    register(made)
    keep(made, of=vars(collections))
    return made


def kept(inner: Any, kind: type) -> Callable[..., Any]:
    """Wrap `inner` so that its self must be an instance of `kind` or of a class derived from it, by the exact mro."""
    check = _check(inner.__name__, kind)

    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        if type(self) is not kind:
            check(self)
        return inner(self, *values, **options)

    def unary(self: Any, /) -> Any:
        if type(self) is not kind:
            check(self)
        return inner(self)

    def binary(self: Any, other: Any, /) -> Any:
        if type(self) is not kind:
            check(self)
        return inner(self, other)

    code = inner.__code__
    plain = not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    made: Any = {1: unary, 2: binary}.get(code.co_argcount, method) if plain and not inner.__defaults__ else method
    made.__name__, made.__qualname__, made.__doc__ = inner.__name__, inner.__qualname__, inner.__doc__
    made.__annotations__ = inner.__annotations__
    function: Callable[..., Any] = made
    return function


def _check(name: str, kind: type) -> Callable[[Any], None]:
    def check(self: Any) -> None:
        if kind not in order_of(type(self)):
            raise TypeError(f"{name} of {title(kind)} takes its instances, not a {title(type(self))}.")

    return check


class Dataclass:
    """A context for decorating one class: functions that dataclasses generates in it first check their `self`.

    A wrapper around `__init__` would cost more than the call itself, and programs create many instances. So the check
    is added to the source text of the functions. A function that did not get it is wrapped instead.
    """

    _decorating: ClassVar[list[Dataclass]] = []
    _OWN, _CHECK, _TYPE = "__own__", "__check__", "__type__"  # no field has such a name

    def __init__(self, cls: type, closed: Iterable[str]) -> None:
        """`closed` are the names of fields that cells may not read from every object."""
        self._before = dict(namespace_of(cls))
        self._closed = tuple(closed)
        self._own = {cls}

    def __enter__(self) -> Dataclass:
        self._decorating.append(self)
        return self

    def __exit__(self, *_error: object) -> None:
        self._decorating.pop()

    def keep(self, made: type) -> None:
        """Restrict the generated functions to instances of `made`, the final class."""
        self._own.clear()
        self._own.add(made)
        for name, value in list(namespace_of(made).items()):
            if generated(value) and self._before.get(name) is not value and not self._looks(value):
                type.__setattr__(made, name, kept(value, made))

    def _looks(self, function: Any) -> bool:
        return self._OWN in getattr(function, "__wrapped__", function).__code__.co_freevars

    @classmethod
    def decorating(cls) -> bool:
        """Whether dataclasses works on a class of a cell, and not of a library that is being imported."""
        return bool(cls._decorating)

    @classmethod
    def look(cls, arguments: Any, body: Any, names: Any, indent: str) -> tuple[Any, Any]:
        """The body of a function to generate, and its outer names, both with the check added."""
        if not cls._decorating:
            return body, names
        own, closed = cls._decorating[-1]._own, cls._decorating[-1]._closed

        def check(self: Any) -> None:
            if not own.intersection(order_of(type(self))):
                raise TypeError(f"a dataclass's own method takes its instances, not a {title(type(self))}.")
            check_names(type(self), closed)
            own.add(type(self))

        line = f"{indent}if {cls._TYPE}({arguments[0]}) not in {cls._OWN}: {cls._CHECK}({arguments[0]})"
        return [line, *body], {**(names or {}), cls._OWN: own, cls._CHECK: check, cls._TYPE: type}


def check_names(kind: type, names: Iterable[str]) -> None:
    """Raise TypeError if one of the `names` of fields, none of them public, belongs to a foreign class.

    Methods generated for a field `_numerator` would set the private attribute of a Fraction; for `format`, they would
    read the method of str.
    """
    for name in names:
        if any(name in namespace_of(each) for each in order_of(kind) if not own_class(each)):
            raise TypeError(f"{title(kind)} inherits {name!r} from a library; give the field another name.")


def _type(value: Any, /) -> type:
    return type(value)


#: The globals of generated functions, for names in a body that are not parameters.
_GLOBALS: dict[str, Any] = {
    "__builtins__": Builtins({"NotImplemented": NotImplemented, "hash": hash, "super": super, "type": _type})
}


def put_checks_into_dataclasses() -> None:
    """Patch dataclasses where it generates functions, so that it adds the check and only uses exact fields."""
    if builder := getattr(dataclasses, "_FuncBuilder", None):  # from Python 3.13 on
        add = builder.add_fn

        def add_fn(self: Any, name: str, args: Any, body: Any, *, locals: Any = None, **options: Any) -> None:  # noqa: A002
            if Dataclass.decorating():
                self.globals = _GLOBALS
            body, names = Dataclass.look(args, body, locals, "  ")
            add(self, name, args, body, locals=names, **options)

        builder.add_fn = add_fn
    else:
        create = dataclasses._create_fn  # type: ignore[attr-defined]

        def _create_fn(name: str, args: Any, body: Any, *, locals: Any = None, **options: Any) -> Any:  # noqa: A002
            if Dataclass.decorating():
                options["globals"] = _GLOBALS
            body, names = Dataclass.look(args, body, locals, "")
            return create(name, args, body, locals=names, **options)

        dataclasses._create_fn = _create_fn  # type: ignore[attr-defined]
    get, add_slots = dataclasses._get_field, dataclasses._add_slots  # type: ignore[attr-defined]

    def _get_field(cls: type, name: str, kind: Any, kw_only: bool) -> dataclasses.Field[Any]:
        found: dataclasses.Field[Any] = get(cls, name, kind, kw_only)
        return _exact(found, name) if Dataclass.decorating() else found

    def _add_slots(cls: type, *rest: Any) -> type:
        """Create the second class, with a registrar that comes before all hooks that receive it."""
        if not Dataclass.decorating():
            made: type = add_slots(cls, *rest)
            return made
        type.__setattr__(cls, REGISTRAR, registrar(globals_of(cls)))
        for name, value in list(namespace_of(cls).items()):
            if name != REGISTRAR and stored(type(value), "__set_name__") is not None:
                type.__delattr__(cls, name)
                type.__setattr__(cls, name, value)
        try:
            made = add_slots(cls, *rest)
        finally:
            if REGISTRAR in namespace_of(cls):
                type.__delattr__(cls, REGISTRAR)
        return made

    dataclasses._get_field, dataclasses._add_slots = _get_field, _add_slots  # type: ignore[attr-defined]
    dataclasses.inspect = _Inspect  # type: ignore[attr-defined]


class _Inspect:
    """Replaces the functions of inspect that dataclasses uses: those call hooks of a cell, and evaluate text."""

    @staticmethod
    def signature(_cls: type) -> str:
        """The signature for the docstring that dataclasses writes if the class has none."""
        return "(...)"

    @staticmethod
    def get_annotations(cls: type) -> dict[str, Any]:
        """The annotations of the class itself."""
        return dict(namespace_of(cls).get("__annotations__", {}))


def copied(item: dataclasses.Field[Any]) -> Any:
    """A copy of a field. A cell that has a field could have it renamed, by using it as a default in another class."""
    made = object.__new__(dataclasses.Field)
    for slot in dataclasses.Field.__slots__:
        setattr(made, slot, getattr(item, slot))
    return made


def _exact(item: Any, name: str) -> dataclasses.Field[Any]:
    """A private copy of the field `item`, with its flags as plain bool.

    dataclasses reads each flag several times. If the results differed, a generated function would use undefined names.
    """
    if type(item) is not dataclasses.Field:
        raise TypeError(f"the field {name!r} is made by dataclasses.field, not by a {title(type(item))}.")
    made = copied(item)
    made.name = name
    for flag in ("init", "repr", "compare", "hash", "kw_only"):
        value = getattr(made, flag)
        if value is not dataclasses.MISSING and not (flag == "hash" and value is None):
            setattr(made, flag, bool(value))
    if made._field_type is dataclasses._FIELD_INITVAR and not made.init:  # type: ignore[attr-defined]
        # Otherwise __post_init__ would receive a name that is not a parameter, but whatever it means elsewhere.
        raise TypeError(f"the InitVar {name!r} is a parameter of __init__; leave init=False out.")
    return made  # type: ignore[no-any-return]
