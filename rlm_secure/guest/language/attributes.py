"""The guards on attributes: decide at run time which a cell may read, set and delete. Cells are hostile.

The decision depends on exact types (a subclass may lie), on the names of names.py, and on whether the cell itself
defined the class or function (registry.py). Never on isinstance(), which believes a value's own `__class__`.
"""

from __future__ import annotations

import decimal
import functools
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from . import classes, facades, formatting, names, registry
from .facades import dataclass, iterators, traces
from .facades.shared import exact_text
from .facades.signals import Signals, SignalsOf
from .facades.system import Outputs
from .registry import derives, is_class, is_instance, own_class, own_instance, title
from .violations import AttributeRefused, RuleViolation

_super_class = super.__dict__["__self_class__"].__get__
_super_self = super.__dict__["__self__"].__get__

_OPERABLE = classes.PLAIN_TYPES | (frozenset(classes.EXCEPTIONS.values()) - {ExceptionGroup})
_ON_BUILTINS = names.OPERATORS | {"__new__", "__setattr__", "__delattr__"}


class Attributes:
    """The guards on attributes for one session, whose cells have the globals `space`.

    `known` are the cell's own classes on whose instances every private name belongs to the cell. Code of cells tests
    for them directly, before it calls a guard.
    """

    def __init__(self, space: dict[str, object]) -> None:
        # All attributes of a SimpleNamespace are the cell's own, and its class has no private names.
        self.known: set[type] = {types.SimpleNamespace}
        self.open: set[type] = set()
        #: Classes that type() gives to cells as they are; and public names that getattr() reads without a guard.
        self.kinds: set[type] = set()
        self.askable: set[str] = set()
        self._judged: set[type] = set()
        self._space = space

    def read(self, value: Any, name: str, *default: Any) -> Any:
        """getattr(value, name[, default]) for an exact `name`. Raises RuleViolation for a closed attribute."""
        if type(value) is str and name == "format" and formatting.is_known_public(value):
            return value.format
        if not names.is_private(name):
            if name in names.CLOSED:
                raise _closed(name)
            if name in names.GUARDED:
                return self._guarded(value, name, *default)
            if name in names.OF_CONTEXTS:
                return _signals(value, name, *default)
            return getattr(value, name, *default)
        if names.is_dunder(name):
            return self._dunder(value, name, *default)
        return getattr(self.private(value, name), name, *default)

    def load(self, value: Any, name: str) -> Any:
        """`value.name`, for a public name that needs no guard on objects of the classes in `open`."""
        return getattr(value, name) if type(value) in self.open else self.read(value, name)

    def store(self, value: Any, name: str) -> Any:
        """`value`, if a cell may set or delete its attribute `name`. Raises RuleViolation otherwise."""
        if names.is_dunder(name):
            if name in names.DEFINABLE and own_class(value) and not registry.is_finished(value, name):
                return (registry.Iterated if name in ("__iter__", "__getitem__") else registry.Changed)(value)
            raise AttributeRefused(
                "attribute-store", f"the attribute {names.shown(name)} cannot be set; define it in the class"
            )
        if name in names.CLOSED:
            raise _closed(name)
        if names.is_private(name):
            kind = _subject(value)
            if classes.kept(kind, name):
                classes.refuse_store(kind, name)
            return self.private(value, name)
        return self._changeable(value, name)

    def private(self, value: Any, name: str) -> Any:
        """`value`, if its private attribute `name` belongs to the cell, or a proxy for it. Raises RuleViolation.

        The result may only be used to load, store or delete that attribute.
        """
        kind = type(value)
        if kind in self.known or self._own_function(value):
            return value
        if self._learn(kind):
            return value
        subject = _subject(value)
        if name in names.TUPLE_METHODS and derives(subject, tuple):
            return classes.records(value, subject)
        on_class, on_super = is_class(value), kind is super
        if own_class(subject) and classes.opens(subject, name, on_class=on_class, on_super=on_super):
            if classes.kept(subject, name):
                return classes.records(value, subject)
            return registry.Changed(value) if on_class else value
        raise AttributeRefused(
            "private-attribute",
            f"{names.shown(name)} is private to {title(subject)}; use its public names",
        )

    def _learn(self, kind: type) -> bool:
        """Add `kind` to `known` if it belongs there. For classes that libraries make, as dataclass(slots=True) does."""
        if kind not in self._judged:
            self._judged.add(kind)
            if own_class(kind) and classes.has_no_foreign_privates(kind):
                self.known.add(kind)
                return True
        return False

    def seen(self, kind: type) -> type:
        """The result of `type(x)` for an `x` of the class `kind`. Raises RuleViolation for an unknown metaclass."""
        found = classes.seen(kind)
        # That a class is given as it is does not change: it is a cell's own, or a facade offers it.
        if found is kind and len(self.kinds) < _MOST_KEPT:
            self.kinds.add(kind)
        return found

    def asked(self, name: str) -> str:
        """`name`, after it was kept for the next time if it needs no guard."""
        if len(self.askable) < _MOST_KEPT and len(name) <= _LONGEST_NAME and names.is_askable(name):
            self.askable.add(name)
        return name

    def texts(self, value: Any) -> _Texts:
        """A proxy on which `value.__name__` and similar texts can be set. Raises RuleViolation where it may not."""
        return _Texts(self._changeable(value, "__name__"))

    def operated(self, value: Any) -> _Operated:
        """A proxy for `value.name += y`, which reads and sets the attribute by the rules of getattr() and setattr()."""
        return _Operated(self, value)

    def _changeable(self, value: Any, name: str) -> Any:
        kind = type(value)
        if kind in self.known or own_class(kind) or self._own_function(value):
            return value
        if own_class(value):
            return registry.Changed(value)
        if name in ("stdout", "stderr") and value is facades.load("sys"):
            return Outputs()
        if kind in facades.WRITABLE:
            return SignalsOf(value) if name in names.OF_CONTEXTS and kind is decimal.Context else value
        raise AttributeRefused(
            "attribute-store",
            f"cannot set {names.shown(name)} on {title(kind)}; set attributes on your own classes and their instances",
        )

    def _own_function(self, value: Any) -> bool:
        own: bool = registry.own_function(value, self._space)
        return own

    def _guarded(self, value: Any, name: str, *default: Any) -> Any:
        if name == "groupindex":
            return _own_view(getattr(value, name, *default))
        if name in _TEMPLATED:
            return _exactly(getattr(value, name, *default))
        if name == "mro":
            return _order(value, *default)
        if name == "throw":
            return iterators.thrower(getattr(value, name, *default))
        if name != "obj":
            return formatting.contained(getattr(value, name, *default), self.read)
        if _holds_its_obj(value):
            return getattr(value, name, *default)
        return _nothing_found(value, name, *default)

    def _dunder(self, value: Any, name: str, *default: Any) -> Any:
        if name in names.TEXTS:
            return _text(value, name, *default)
        if name in names.OWN_ONLY:
            return self._own_only(value, name, *default)
        if name in names.OF_CLASSES:
            return _class(value, name)
        if name in names.OF_EXCEPTIONS:
            return _linked(value, name, *default)
        if name in names.OF_ALIASES:
            return _of_alias(value, name, *default)
        subject = _subject(value)
        if name not in _allowed(value, subject):
            raise _closed_dunder(subject, name)
        found = getattr(value, name, *default)
        if name == "__new__":
            return _maker(found)
        if name in ("__setattr__", "__delattr__"):
            return self._changer(value, name, found)
        if type(found) is types.FunctionType and found.__globals__ is not self._space:
            return _of_instances(found, subject)
        return found

    def _own_only(self, value: Any, name: str, *default: Any) -> Any:
        kind = type(value)
        own = own_class(value)
        if name == "__wrapped__":
            return _wrapped(value, *default)
        if self._own_function(value):
            if name in _OF_FUNCTIONS:
                found = getattr(value, name)
                if type(found) is not dict:
                    return found
                # A copy, because the function's own dict could hold any key.
                return {"__wrapped__" if key == names.WRAPPED else key: each for key, each in found.items()}
        elif name == "__dict__":
            if own:
                return types.MappingProxyType(classes.members_of(value))
            if kind is types.SimpleNamespace or own_instance(value):
                return getattr(value, name, *default)
        elif name == "__annotations__" and own:
            return dict(getattr(value, name, *default))
        elif name == "__members__" and own:
            return _own_view(getattr(value, name, *default))
        elif name in _LISTED and own_class(_subject(value)):
            return _listed(_subject(value), name)
        raise _closed_dunder(kind, name)

    def _changer(self, value: Any, name: str, found: Any) -> Callable[..., Any]:
        """Wrap `found`, a `__setattr__` or `__delattr__` that is called by name, with the rules of setattr()."""
        arity = 2 if name == "__setattr__" else 1

        def change(*values: Any) -> Any:
            if len(values) not in (arity, arity + 1):
                raise TypeError(f"{name} takes {arity} arguments, not {len(values)}")
            unbound = len(values) == arity + 1
            target = values[0] if unbound else _super_self(value) if type(value) is super else value
            attribute = exact(values[unbound])
            self.store(target, attribute)
            return found(*values[:unbound], attribute, *values[unbound + 1 :])

        return change


#: The guards of sessions, which third-party packages replace by stricter ones.
_kind: type[Attributes] = Attributes


def use(kind: type[Attributes]) -> None:
    """Have later sessions use `kind` as their guards. Called in the zygote."""
    global _kind
    _kind = kind


def session(space: dict[str, object]) -> Attributes:
    """The guards of a new session, whose cells have the globals `space`."""
    return _kind(space)


class _Texts:
    """Sets `f.__name__ = text` on a cell's own functions and classes. Only accepts exact text."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getitem__(self, name: str) -> Any:
        return _text(self._target, name)

    def __setitem__(self, name: str, text: Any) -> None:
        setattr(self._target, name, None if name == "__doc__" and text is None else exact(text))


class _Operated:
    """Reads and sets for `value.name += y`, where loads of the name have a guard."""

    __slots__ = ("_guard", "_value")

    def __init__(self, guard: Attributes, value: Any) -> None:
        self._guard = guard
        self._value = value

    def __getitem__(self, name: str) -> Any:
        return self._guard.read(self._value, name)

    def __setitem__(self, name: str, to: Any) -> None:
        setattr(self._guard.store(self._value, name), name, to)


#: What a session keeps of classes and of names, so that its memory is bounded.
_MOST_KEPT = 1_000
_LONGEST_NAME = 100
#: What a cell may read of its own functions.
_OF_FUNCTIONS = frozenset({"__dict__", "__annotations__", "__defaults__", "__kwdefaults__"})
#: Names of attributes, listed by a class.
_LISTED = frozenset({"__slots__", "__match_args__", "__dataclass_fields__"})
_bases_of = type.__dict__["__bases__"].__get__
_base_of = type.__dict__["__base__"].__get__
#: Read as the interpreter stores them, so that no code of the exception's class runs.
_LINKS = {name: BaseException.__dict__[name].__get__ for name in names.OF_EXCEPTIONS - {"__notes__", "__traceback__"}}
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def _allowed(value: Any, subject: type) -> frozenset[str]:
    """The data-model methods that a cell may call by name on `value`, whose rules are those of `subject`."""
    if own_class(subject):
        return names.DEFINABLE
    if subject in _OPERABLE:
        return _ON_BUILTINS
    return frozenset() if is_class(value) or type(value) is super else names.AS_OPERATORS


def _wrapped(value: Any, *default: Any) -> Any:
    """What functools.wraps or a cache recorded on a function, or on an instance of a cell's class."""
    kind = type(value)
    name, held = "__wrapped__", None
    if kind is types.FunctionType:
        name, held = names.WRAPPED, value.__dict__
    elif own_instance(value):
        held = registry.attributes_of(value)
    if held is None:
        raise _closed_dunder(kind, name)
    if name in held:
        return held[name]
    if default:
        return default[0]
    raise AttributeError(f"{title(kind)!r} object has no attribute '__wrapped__'")


def _listed(kind: type, name: str) -> Any:
    """The names that the own class `kind` lists. Raises RuleViolation if it lists none."""
    if name == "__dataclass_fields__":
        if dataclass.is_dataclass(kind):
            return {each.name: each for each in dataclass.fields(kind)}
    elif type(found := registry.stored(kind, name)) in (tuple, list, str):
        return list(found) if type(found) is list else found
    raise _closed_dunder(kind, name)


def _class(value: Any, name: str) -> Any:
    """`value.__class__`, as type() gives it, or the bases of the class `value`. Raises RuleViolation."""
    if name == "__class__":
        return classes.seen(type(value))
    if not is_class(value):
        raise _closed_dunder(type(value), name)
    if name == "__base__":
        base = _base_of(value)
        return None if base is None else classes.ancestor(base)
    if name == "__bases__":
        return tuple(map(classes.ancestor, _bases_of(value)))
    return (value, *map(classes.ancestor, registry.order_of(value)[1:]))


_ORDER = type.__dict__["mro"]


def _order(value: Any, *default: Any) -> Any:
    """`value.mro`. For a class without an own attribute of this name, a function that lists what `__mro__` does."""
    if is_class(value) and registry.stored(value, "mro") is None:
        return lambda: list(_class(value, "__mro__"))
    found = getattr(value, "mro", *default)
    # An alias of typing answers with that of its class: `typing.Type.mro` takes any class.
    if found is _ORDER or (derives(type(found), types.BuiltinMethodType) and found.__name__ == "mro"):
        raise _closed("mro")
    return found


def _linked(error: Any, name: str, *default: Any) -> Any:
    """An attribute of the exception `error`; None for another exception that did not pass through the cell's code.

    Library code and guards raise and handle exceptions of their own, with anything in their arguments.
    """
    if not is_instance(error, BaseException):
        raise _closed_dunder(_subject(error), name)
    if name == "__notes__":
        notes = getattr(error, name, *default)
        return list(notes) if type(notes) is list else notes
    if name == "__traceback__":
        return traces.of(error)
    found = _LINKS[name](error)
    return found if not is_instance(found, BaseException) or _passed(found) else None


#: By their exact types, because a class can have any metaclass and an instance any attribute.
_ALIASES = frozenset(
    type(each)
    for each in (
        list[int], typing.List[int], int | str, typing.Union[int, str], typing.Literal[1],  # noqa: UP006, UP007
        typing.Annotated[int, 1], typing.Callable[[int], str], Callable[[int], str],
    )
)  # fmt: skip
_ANNOTATED = type(typing.Annotated[int, 1])


def _of_alias(value: Any, name: str, *default: Any) -> Any:
    """An attribute of the alias `value`: what a cell put in, or the class that typing.get_origin() gives."""
    kind = type(value)
    if kind in _ALIASES:
        if name == "__args__" or (name == "__metadata__" and kind is _ANNOTATED):
            return object.__getattribute__(value, name)
        if name == "__origin__" and kind is _ANNOTATED:
            return typing.get_args(value)[0]
        if name == "__origin__" and kind is not types.UnionType:
            return facades.load("typing").get_origin(value)
    if default:
        return default[0]
    raise AttributeError(f"{title(type(value))!r} object has no attribute {name!r}")


def _passed(error: BaseException) -> bool:
    """Whether a cell could have caught `error`, or has made it."""
    trace = _traceback_of(error)
    if trace is None:
        return own_instance(error) or type(error) in _OPERABLE or type(error) is ExceptionGroup
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == registry.FILENAME:
            return True
        trace = trace.tb_next
    return False


def _subject(value: Any) -> type:
    """The class whose rules apply to `value`: itself if it is a class, the class of a super(), otherwise its type."""
    kind = type(value)
    if kind is super:
        return _super_class(value) or super
    if is_class(value):
        return value  # type: ignore[no-any-return]
    if type in registry.order_of(kind):
        raise RuleViolation("metaclass", "the attributes of this class are closed: nobody reviewed its metaclass")
    return kind


def exact(name: Any) -> str:
    """`name` as an exact str. A subclass could differ between the checks and the look-up. Raises TypeError."""
    if type(name) is str:
        return name
    if is_instance(name, str):
        return str.__str__(name)
    raise TypeError(f"attribute name must be string, not '{title(type(name))}'")


def _text(value: Any, name: str, *default: Any) -> Any:
    """The attribute, if it is text or None. Raises RuleViolation for any other value."""
    found = getattr(value, name, *default)
    return found if default and found is default[0] else text(found, name)


def text(found: Any, name: str) -> str | None:
    """`found`, the attribute `name` of a value, if it is text or None. Raises RuleViolation for any other value."""
    if found is None or type(found) is str:
        return found
    if is_instance(found, str):
        return str.__str__(found)
    raise AttributeRefused("dunder-attribute", f"the attribute {name!r} is not text here")


#: Methods of patterns and matches that take a template. `re` looks it up in a cache, which calls `==`.
_TEMPLATED = frozenset({"sub", "subn", "expand"})


def _exactly(found: Any) -> Any:
    """`found`; if it is one of these methods of the library, a wrapper that converts its arguments to exact text."""
    kind = type(found)
    if derives(kind, types.BuiltinMethodType):  # since Python 3.12, it has a type of its own
        owner = type(found.__self__)
    elif kind is types.MethodDescriptorType:
        owner = found.__objclass__
    else:
        return found
    if owner not in (re.Pattern, re.Match):
        return found

    def method(*values: Any, **options: Any) -> Any:
        return found(*map(exact_text, values), **{name: exact_text(value) for name, value in options.items()})

    method.__name__ = found.__name__
    return method


#: The type of objects that point into the memory of a decimal context.
_RAW_SIGNALS = frozenset({type(decimal.Context().flags)}) - {dict}


def _signals(value: Any, name: str, *default: Any) -> Any:
    """`value.flags` or `value.traps`. For a decimal context, an object that also keeps the context alive."""
    if derives(type(value), decimal.Context):
        return Signals(value, name)
    found = getattr(value, name, *default)
    if type(found) in _RAW_SIGNALS:
        raise AttributeRefused("closed-attribute", f"{names.shown(name)} is read from a decimal.Context itself")
    return found


#: Library types whose `obj` was set by the cell.
_WITH_OBJ = (types.SimpleNamespace, type(functools.cmp_to_key(lambda _one, _other: 0)(None)))


def _holds_its_obj(value: Any) -> bool:
    """Whether `obj` of `value` is a cell's own attribute, and not that of an AttributeError or an unknown type."""
    subject = _subject(value)
    if derives(subject, AttributeError):
        return False
    return own_class(subject) or subject in _WITH_OBJ or registry.own_function(value)


def _nothing_found(value: Any, name: str, *default: Any) -> Any:
    """getattr() for a value that should not have the attribute. Raises RuleViolation if it has."""
    found = getattr(value, name, *default)
    if default and found is default[0]:
        return found
    raise AttributeRefused(
        "closed-attribute", f"{names.shown(name)} of {title(type(value))} is closed to cells; use its text"
    )


def _own_view(found: Any) -> Any:
    """`found`; if it is a read-only view of a library's dict, a view of a copy.

    `view == x` and `view | x` call a method of x, and pass the dict itself to it.
    """
    return types.MappingProxyType(dict(found)) if type(found) is types.MappingProxyType else found


def _maker(found: Any) -> Callable[..., Any]:
    """Wrap `found`, a `__new__` that is called by name: it only accepts classes defined in cells."""

    def make(kind: Any, /, *values: Any, **options: Any) -> Any:
        if not (own_class(kind)):
            raise RuleViolation("foreign-instance", "__new__ makes instances of classes defined in cells only")
        return found(kind, *values, **options)

    return make


def _of_instances(found: Any, kind: type) -> Callable[..., Any]:
    """Wrap `found`, a library function that was read from the own class `kind`: it only accepts instances of `kind`.

    Library code has no guards. For example, a dataclass's `__init__` sets attributes named like its fields, and its
    `__repr__` reads them, on any object that is passed as self.
    """

    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        if not is_instance(self, kind):
            raise RuleViolation(
                "foreign-instance",
                f"{found.__name__} of {title(kind)} takes its instances, not a {title(type(self))}",
            )
        return found(self, *values, **options)

    return method


def _closed(name: str) -> AttributeRefused:
    return AttributeRefused(
        "closed-attribute", f"the attribute {names.shown(name)} is closed to cells; {names.advice(name)}"
    )


def _closed_dunder(kind: type, name: str) -> AttributeRefused:
    return AttributeRefused(
        "dunder-attribute", f"{names.shown(name)} of {title(kind)} is closed to cells; {names.advice(name)}"
    )
