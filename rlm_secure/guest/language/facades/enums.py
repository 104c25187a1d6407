"""The facade of enum. It has its own base classes from which cells derive."""

from __future__ import annotations

import enum
import sys
import types
from typing import Any, NoReturn

from ..names import REGISTRAR
from ..registry import (
    CELL,
    admit_metaclass,
    derives,
    finish,
    is_instance,
    memory_of,
    own_class,
    own_function,
    register,
    registrar,
    stored,
    title,
)
from .checks import identifier
from .facade import facade

_REGISTRAR = registrar(None)  # for classes that are created without a class statement


def _check_data(member_type: type) -> None:
    """Refuse a flag whose members are created by a cell's `__new__`, or have a type whose layout C code trusts."""
    if own_class(member_type) or memory_of(member_type) is not None:
        raise TypeError("a flag takes its values from int; leave the other base out.")


@admit_metaclass
class _CellEnumType(enum.EnumType):
    """The metaclass of the enums below: its call form only takes names and values.

    The call form of the original takes `module`, `qualname` and any attribute names, even dunders, so that it could
    create any class.
    """

    @classmethod
    def __prepare__(metacls, cls: str, bases: tuple[type, ...], **options: Any) -> Any:  # type: ignore[override]
        """The namespace of a class body, with a registrar, because the call form has no body that could add one.

        The registrar comes before entries that the original copies from the base, which may have hooks.
        """
        made = super().__prepare__(cls, bases, **options)
        if any(type(base) is metacls for base in bases):  # a class of a cell, not a base class below
            inherited = dict(made)
            dict.clear(made)
            dict.update(made, {REGISTRAR: _REGISTRAR, **inherited})
        return made

    def __new__(metacls, cls: str, bases: tuple[type, ...], classdict: Any, **options: Any) -> Any:
        """Create an enum. `_ignore_` and `_order_` in its body may only list plain names."""
        for name in ("_ignore_", "_order_"):
            if name in classdict:
                dict.__setitem__(classdict, name, _listed(name, classdict[name]))
        if type(options.get("boundary")) not in (type(None), enum.FlagBoundary):
            raise TypeError("boundary is one of STRICT, CONFORM, EJECT and KEEP of enum.")
        made: Any = super().__new__(metacls, cls, bases, classdict, **options)
        if own_class(made):  # the original puts the `__new__` of Enum there
            finish(made)
        return made

    @classmethod
    def _get_mixins_(metacls, class_name: str, bases: tuple[type, ...]) -> Any:
        """The type of the members' data, and the enum to derive from: the last base. Each of them may be a flag."""
        member_type, first_enum = super()._get_mixins_(class_name, bases)  # type: ignore[misc]
        if any(derives(base, enum.Flag) for base in bases):
            _check_data(member_type)
        return member_type, first_enum

    @classmethod
    def _find_new_(metacls, classdict: Any, member_type: Any, first_enum: Any) -> Any:
        """The function that creates members: the original's choice, with a check that it returns members.

        The original sets its own attributes on any object that is returned, and calls its `__init__`. It also compares
        the object stored as `__new__` with functions that cells do not have; so that must not have hooks.
        """
        found = [stored(kind, "__new__") for kind in (member_type, first_enum) if kind is not None]
        if any(type(each) is staticmethod and type(each.__func__) is not types.FunctionType for each in found) or (
            not all(type(each) in (staticmethod, types.BuiltinMethodType, types.FunctionType) for each in found)
        ):
            raise TypeError("an enum takes members from a __new__ that was written with def.")
        if "__new__" in classdict and not own_function(classdict["__new__"]):
            raise TypeError("__new__ of an enum is written with def.")
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
        """Refused: it can create any class."""
        raise TypeError("an enum is made by its call form or by a class statement.")

    def _convert_(cls, *_args: Any, **_options: Any) -> NoReturn:
        """Refused: it creates an enum from the contents of any loaded module, even os."""
        raise TypeError("an enum is made by its call form or by a class statement.")


def _listed(name: str, value: Any) -> list[str]:
    """The names that `_ignore_` or `_order_` of a body lists, as plain text without hooks."""
    found = value.replace(",", " ").split() if type(value) is str else value
    if type(found) not in (list, tuple) or not all(type(each) is str and each.isidentifier() for each in found):
        raise TypeError(f"{name} lists names of the enum's body: as plain text, or a list or tuple of plain str.")
    return list(found)


_CellEnumType.__name__ = _CellEnumType.__qualname__ = "EnumType"  # what type(E).__name__ is
_CellEnumType.__module__ = "enum"


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


def _keep_redirects() -> None:
    """Have the descriptor for a member that hides an attribute of a base only return the member, or a property.

    Since Python 3.12 the original reads an attribute of the instance's value, by the name to which it was bound last:
    in library code, without guards. Enums that no cell made are not changed.
    """
    kind: Any = enum.property
    get, put, delete, bind = (vars(kind)[name] for name in ("__get__", "__set__", "__delete__", "__set_name__"))

    def home(self: Any) -> Any:
        return self.__dict__.get("home")

    def __set_name__(self: Any, owner: type, name: str) -> None:
        if home(self) is not None:
            raise TypeError(f"what stands for a member of {title(home(self))} cannot be bound anew.")
        bind(self, owner, name)
        if type(owner) is _CellEnumType or own_class(owner):
            self.home = owner

    def __get__(self: Any, instance: Any, owner: Any = None) -> Any:
        kind = self.__dict__.get("home")  # every member's `value` comes by here
        if kind is None:
            return get(self, instance, owner)
        if instance is not None and self.fget is not None and is_instance(instance, kind):
            return self.fget(instance)
        members = stored(kind, "_member_map_")
        if self.name not in members:
            raise AttributeError(f"{title(kind)} has no member {self.name!r}")
        return members[self.name]

    def _of_its_own(self: Any, instance: Any) -> None:
        kind = home(self)
        if kind is not None and not is_instance(instance, kind):
            raise TypeError(f"{self.name!r} of {title(kind)} takes its members, not a {title(type(instance))}.")

    def __set__(self: Any, instance: Any, value: Any) -> None:
        _of_its_own(self, instance)
        put(self, instance, value)

    def __delete__(self: Any, instance: Any) -> None:
        _of_its_own(self, instance)
        delete(self, instance)

    for function in (__set_name__, __get__, __set__, __delete__):
        setattr(kind, function.__name__, function)


def _keep_waiting_members() -> None:
    """Have the placeholders of members in a new enum not act as attributes, and be bound only once, by an enum."""
    kind: Any = enum._proto_member  # type: ignore[attr-defined]
    bind = vars(kind)["__set_name__"]

    def __get__(_self: Any, _instance: Any, owner: Any = None) -> NoReturn:
        raise AttributeError(f"{title(owner)} is being made, and has no such member yet")

    def __set_name__(self: Any, owner: type, name: str) -> None:
        if "bound" in vars(self) or not derives(type(owner), enum.EnumType):
            raise TypeError(f"what becomes a member of an enum cannot be an attribute of {title(owner)}.")
        self.bound = True
        bind(self, owner, name)

    kind.__get__, kind.__set_name__ = __get__, __set_name__


def _keep_combinations() -> None:
    """Have Flag make combinations by a function that returns instances of the flag: it sets attributes on them."""
    original: Any = vars(enum.Flag)["_missing_"].__func__

    @classmethod  # type: ignore[misc]
    def _missing_(cls: Any, value: Any) -> Any:
        _check_data(stored(cls, "_member_type_", object))
        return original(cls, value)

    setattr(enum.Flag, "_missing_", _missing_)  # noqa: B010 - a type checker knows it as final


_keep_redirects()
_keep_waiting_members()
_keep_combinations()

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
