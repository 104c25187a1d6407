"""The globals of a cell: its builtins, and the guards that the compiler put into its code.

A guard sees live values of a hostile cell. It decides by exact types (a subclass may lie), by the names of names.py,
and by whether the cell itself defined the class or function at hand; it never trusts isinstance(), which believes
what a value says its `__class__` is.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from . import classes, facades, formatting, names
from .classes import is_class, is_own
from .facades.late import Builtins
from .violations import ModuleRefused, NameRefused, RuleViolation

__all__ = ["RuleViolation", "build_globals", "is_internal"]

_HARMLESS_BUILTINS = names.words(
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
    "format frozenset hash hex id int isinstance issubclass iter len list map max min next object oct ord pow property "
    "range repr reversed round set slice sorted staticmethod str sum super tuple zip "
    "None True False Ellipsis NotImplemented"
)

_super_class = super.__dict__["__self_class__"].__get__
_super_self = super.__dict__["__self__"].__get__
_NONE: Any = object()


def is_internal(name: str) -> bool:
    """Whether `name` in a cell's globals is the machinery's, and must not be shown, returned or kept."""
    return not name.isidentifier() or names.is_dunder(name) or name in names.HOOKS


def build_globals(modules: frozenset[str], print_: Callable[..., None]) -> dict[str, object]:
    """Fresh globals for one session's cells.

    `modules` are the modules that `import` may name; `print_` is the cells' print. The guards stand among the
    builtins, under names that no cell can spell.
    """
    space: dict[str, object] = {"__name__": classes.CELL}
    guards = Guards(space)
    safe: dict[str, object] = {name: getattr(builtins, name) for name in _HARMLESS_BUILTINS}
    safe.update(classes.EXCEPTIONS)
    safe.update(guards.builtins())
    safe["BaseException"] = Exception
    safe["type"] = classes.Kind
    safe["print"] = print_
    safe["__build_class__"] = classes.class_builder(guards.known)
    safe[names.ATTRIBUTE] = guards.attribute
    safe[names.STORE] = guards.store
    safe[names.PRIVATE] = guards.private
    safe[names.RENAME] = guards.texts
    safe[names.REMOVED] = guards.removed
    safe[names.PATTERN] = pattern_class
    safe[names.CLASSES] = guards.known
    safe[names.TYPE] = type
    safe[names.EXCEPTION] = Exception
    safe[names.IMPORT], safe[names.IMPORT_FROM] = _imports(modules)
    # A module, so that C code of the standard library finds an importer that cells do not have; the interpreter
    # itself reads names from its dict, which holds what `safe` does.
    space["__builtins__"] = Builtins(safe)
    return space


class Guards:
    """The guards of one session. `known` are own classes, for the check that is compiled into cells."""

    def __init__(self, space: dict[str, object]) -> None:
        self.known: set[type] = set()
        self._space = space

    def builtins(self) -> dict[str, object]:
        """The builtins that take an attribute's name, each under the rules for names behind a dot."""
        attribute, store = self.attribute, self.store

        def getattr(value: Any, name: str, /, *default: Any) -> Any:  # noqa: A001 - stands in for the builtin
            if len(default) > 1:
                raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
            return attribute(value, _exact(name), *default)

        def hasattr(value: Any, name: str, /) -> bool:  # noqa: A001 - stands in for the builtin
            return builtins.hasattr(value, _exact(name))  # a yes or no gives no access

        def setattr(value: Any, name: str, to: Any, /) -> None:  # noqa: A001 - stands in for the builtin
            name = _exact(name)
            builtins.setattr(store(value, name), name, to)

        def delattr(value: Any, name: str, /) -> None:  # noqa: A001 - stands in for the builtin
            name = _exact(name)
            builtins.delattr(store(value, name), name)

        def vars(value: Any = _NONE, /) -> Any:  # noqa: A001 - stands in for the builtin
            if value is _NONE:
                raise RuleViolation("removed-builtin", "vars() without a value does not exist here; use SHOW_VARS()")
            return attribute(value, "__dict__")

        def dir(value: Any = _NONE, /) -> list[str]:  # noqa: A001 - stands in for the builtin
            if value is _NONE:
                raise RuleViolation("removed-builtin", "dir() without a value does not exist here; use SHOW_VARS()")
            return [name for name in builtins.dir(value) if type(name) is str and names.is_public(name)]

        made = (getattr, hasattr, setattr, delattr, vars, dir)
        for function in made:
            function.__qualname__ = function.__name__
        return {function.__name__: function for function in made}

    def attribute(self, value: Any, name: str, *default: Any) -> Any:
        """getattr(value, name[, default]) for an exact `name`. Raises RuleViolation for what is closed."""
        if not names.is_private(name):
            if name in names.CLOSED:
                raise RuleViolation("closed-attribute", f"the attribute {name!r} is closed to cells")
            if name in names.GUARDED:
                return self._guarded(value, name, *default)
            return getattr(value, name, *default)
        if names.is_dunder(name):
            return self._dunder(value, name, *default)
        return getattr(self.private(value, name), name, *default)

    def store(self, value: Any, name: str) -> Any:
        """`value`, if a cell may set or delete its attribute `name`. Raises RuleViolation otherwise."""
        if names.is_dunder(name):
            if name in names.DEFINABLE and is_class(value) and is_own(value):
                return value
            raise RuleViolation(
                "attribute-store", f"the attribute {names.shown(name)} cannot be set; define it in the class"
            )
        if name in names.CLOSED:
            raise RuleViolation("closed-attribute", f"the attribute {name!r} is closed to cells")
        if names.is_private(name):
            return self.private(value, name)
        return self._changeable(value, name)

    def private(self, value: Any, name: str) -> Any:
        """`value`, if its private attribute `name` is the cell's own. Raises RuleViolation otherwise."""
        kind = type(value)
        if kind in self.known or self._own_function(value):
            return value
        subject = _subject(value)
        if name in names.TUPLE_METHODS and issubclass(subject, tuple):
            return value
        on_class, on_super = issubclass(kind, type), kind is super
        if is_own(subject) and classes.opens(subject, name, on_class=on_class, on_super=on_super):
            return value
        raise RuleViolation(
            "private-attribute",
            f"{names.shown(name)} is private to {_title(subject)}; use its public names",
        )

    def texts(self, value: Any) -> _Texts:
        """Where `value.__name__` and its kind can be set, if a cell may."""
        return _Texts(self._changeable(value, "__name__"))

    def removed(self, name: str) -> Any:
        """A variable that has the name of a builtin that does not exist here. Raises RuleViolation if there is none."""
        if name in self._space:
            return self._space[name]
        raise RuleViolation("removed-builtin", f"{name}() does not exist here; {names.REMOVED_BUILTINS[name]}")

    def _changeable(self, value: Any, name: str) -> Any:
        kind = type(value)
        if kind in self.known or is_own(kind) or self._own_function(value) or kind in facades.WRITABLE:
            return value
        if issubclass(kind, type) and is_own(value):
            return value
        raise RuleViolation(
            "attribute-store",
            f"cannot set {names.shown(name)} on {_title(kind)}; set attributes on your own classes and their instances",
        )

    def _own_function(self, value: Any) -> bool:
        return type(value) is types.FunctionType and value.__globals__ is self._space

    def _guarded(self, value: Any, name: str, *default: Any) -> Any:
        if name != "obj":
            return formatting.contained(getattr(value, name, *default))
        if issubclass(_subject(value), AttributeError):
            raise RuleViolation("closed-attribute", "'obj' of an AttributeError is closed to cells; use its text")
        return getattr(value, name, *default)

    def _dunder(self, value: Any, name: str, *default: Any) -> Any:
        if name in names.TEXTS:
            return _text(value, name, *default)
        if name in names.OWN_ONLY:
            return self._own_only(value, name, *default)
        subject = _subject(value)
        allowed = names.DEFINABLE if is_own(subject) else _ON_BUILTINS if subject in _OPERABLE else ()
        if name not in allowed:
            raise RuleViolation("dunder-attribute", f"{names.shown(name)} of {_title(subject)} is closed to cells")
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
        own = issubclass(kind, type) and is_own(value)
        if name == "__class__" and is_own(kind):
            return kind
        if name == "__dict__" and is_own(kind):
            return getattr(value, name, *default)
        if name == "__dict__" and own:
            return types.MappingProxyType(classes.members_of(value))
        if name == "__annotations__" and (own or self._own_function(value)):
            return dict(getattr(value, name, *default))
        if name == "__members__" and own:
            return getattr(value, name, *default)
        raise RuleViolation("dunder-attribute", f"{name!r} of {_title(kind)} is closed to cells")

    def _changer(self, value: Any, name: str, found: Any) -> Callable[..., Any]:
        """`found`, a `__setattr__` or `__delattr__` called by name, under the rules of setattr()."""
        arity = 2 if name == "__setattr__" else 1

        def change(*values: Any) -> Any:
            if len(values) not in (arity, arity + 1):
                raise TypeError(f"{name} takes {arity} arguments, not {len(values)}")
            unbound = len(values) == arity + 1
            target = values[0] if unbound else _super_self(value) if type(value) is super else value
            attribute = _exact(values[unbound])
            self.store(target, attribute)
            return found(*values[:unbound], attribute, *values[unbound + 1 :])

        return change


_OPERABLE = classes.PLAIN_TYPES | frozenset(classes.EXCEPTIONS.values())
_ON_BUILTINS = names.OPERATORS | {"__new__", "__setattr__", "__delattr__"}


class _Texts:
    """`f.__name__ = text`, for a cell's own functions and classes: exact text only."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getitem__(self, name: str) -> Any:
        return _text(self._target, name)

    def __setitem__(self, name: str, text: Any) -> None:
        setattr(self._target, name, None if name == "__doc__" and text is None else _exact(text))


def pattern_class(kind: Any) -> Any:
    """A class for a pattern with positional parts: the attributes that it reads are checked as if written out."""
    if is_class(kind):
        # As it is stored: a descriptor could show the check one tuple and the pattern another.
        parts = classes.stored(kind, "__match_args__")
        if parts is not None and not (
            type(parts) is tuple and all(type(part) is str and names.is_public(part) for part in parts)
        ):
            raise RuleViolation(
                "pattern-attribute",
                f"__match_args__ of {_title(kind)} must be a tuple of public attribute names to stand in a pattern",
            )
    return kind


def _subject(value: Any) -> type:
    """The class that decides about `value`: itself if it is one, the one behind a super(), else its type."""
    kind = type(value)
    if kind is super:
        return _super_class(value) or super
    subject: type = value if issubclass(kind, type) else kind
    return subject


def _title(kind: type) -> str:
    return str(type.__getattribute__(kind, "__name__"))[:60]


def _exact(name: Any) -> str:
    """`name` as an exact str: a subclass could answer the checks differently than the lookup."""
    if type(name) is str:
        return name
    if issubclass(type(name), str):
        return str.__str__(name)
    raise TypeError(f"attribute name must be string, not '{_title(type(name))}'")


def _text(value: Any, name: str, *default: Any) -> Any:
    """An attribute that is text or None; nothing else ever comes out of it."""
    found = getattr(value, name, *default)
    if found is None or type(found) is str or (default and found is default[0]):
        return found
    if issubclass(type(found), str):
        return str.__str__(found)
    raise RuleViolation("dunder-attribute", f"the attribute {name!r} is not text here")


def _maker(found: Any) -> Callable[..., Any]:
    """`found`, a `__new__` called by name: for classes defined in cells only."""

    def make(kind: Any, /, *values: Any, **options: Any) -> Any:
        if not (is_class(kind) and is_own(kind)):
            raise RuleViolation("foreign-instance", "__new__ makes instances of classes defined in cells only")
        return found(kind, *values, **options)

    return make


def _of_instances(found: Any, kind: type) -> Callable[..., Any]:
    """`found`, library code read from the own class `kind`: for its instances only.

    Library code has no guards: a dataclass's `__init__` sets, and its `__repr__` reads, the attributes that its
    fields are named after, on anything that it is given as self.
    """

    def method(self: Any, /, *values: Any, **options: Any) -> Any:
        if not issubclass(type(self), kind):
            raise RuleViolation(
                "foreign-instance",
                f"{found.__name__} of {_title(kind)} takes its instances, not a {_title(type(self))}",
            )
        return found(self, *values, **options)

    return method


def _granted(name: str, modules: frozenset[str]) -> bool:
    """A submodule's facade comes with its package's, and an empty package with any of its submodules."""
    if name in facades.PACKAGES:
        return any(each.partition(".")[0] == name for each in modules)
    return name in modules or name.partition(".")[0] in modules


def _imports(modules: frozenset[str]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The guards behind `import x` and `from x import y`."""

    def load(name: str) -> Any:
        if name in facades.NAMES and _granted(name, modules):
            return facades.load(name)
        offered = ", ".join(sorted(each for each in facades.NAMES if _granted(each, modules)))
        raise ModuleRefused(
            "import-module", f"the module {names.shown(name)} is not available in cells; available: {offered}"
        )

    def import_(name: str, whole: bool) -> Any:
        found = load(name)
        return found if whole or "." not in name else load(name.partition(".")[0])

    def import_from(module: str, name: str) -> Any:
        found = load(module)
        try:
            return getattr(found, name)
        except AttributeError as error:
            if f"{module}.{name}" in facades.NAMES:
                return load(f"{module}.{name}")
            raise NameRefused("import-name", str(error).rstrip(".")) from None

    return import_, import_from
