"""The globals of a cell: its builtins, and the guards that the compiler put into its code.

A guard sees live values of a hostile cell. It decides by exact types (a subclass may lie), by the names of
names.py, and by whether the cell itself defined the class or function at hand; it never trusts isinstance(),
which believes an instance's `__class__`.
"""

from __future__ import annotations

import builtins
import collections
import string
import types
from collections.abc import Callable
from typing import Any

from . import classes, facades, names
from .classes import is_class, is_own, is_plain
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
_NONE = object()


def is_internal(name: str) -> bool:
    """Whether `name` in a cell's globals is the machinery's, and must not be shown, returned or kept."""
    return not name.isidentifier() or names.is_dunder(name) or name in names.HOOKS


def build_globals(modules: frozenset[str], print_: Callable[..., None]) -> dict[str, object]:
    """Fresh globals for one session's cells.

    `modules` are the modules that `import` may name; `print_` is the cell's print. The guards live in the
    builtins, under names that no cell can spell.
    """
    space: dict[str, object] = {"__name__": classes.CELL}
    guards = Guards(space)
    build = classes.class_builder(_classes_of(modules), guards.known)
    safe: dict[str, object] = {name: getattr(builtins, name) for name in _HARMLESS_BUILTINS}
    safe.update(classes.EXCEPTIONS)
    safe.update(
        {
            "BaseException": Exception,
            "type": classes.Kind,
            "print": print_,
            "__build_class__": build,
            names.TYPE: type,
            names.EXCEPTION: Exception,
            names.CLASSES: guards.known,
        }
    )
    safe.update(guards.functions())
    safe.update(_import_guards(modules))
    # A module, so that C code of the standard library finds an importer that cells do not have; the interpreter
    # itself reads names from its dict, which is `safe`.
    space["__builtins__"] = Builtins(safe)
    return space


class Guards:
    """The guards of one session. `known` are own plain classes, for the check that is compiled into cells."""

    def __init__(self, space: dict[str, object]) -> None:
        self.known: set[type] = set()
        self._space = space

    def functions(self) -> dict[str, object]:
        """The guard functions, and the builtins that are guards themselves."""
        attribute, store, private = self.attribute, self.store, self.private
        space = self._space

        def getattr(value: Any, name: str, /, *default: Any) -> Any:  # noqa: A001 - stands in for the builtin
            if len(default) > 1:
                raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
            return attribute(value, _exact(name), *default)

        def hasattr(value: Any, name: str, /) -> bool:  # noqa: A001 - stands in for the builtin
            return builtins.hasattr(value, _exact(name))

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

        def removed(name: str) -> Any:
            if name in space:
                return space[name]
            raise RuleViolation("removed-builtin", f"{name}() does not exist here; {names.REMOVED_BUILTINS[name]}")

        visible = (getattr, hasattr, setattr, delattr, vars, dir)
        for function in visible:
            function.__qualname__ = function.__name__
        return {
            **{function.__name__: function for function in visible},
            names.ATTRIBUTE: attribute,
            names.STORE: store,
            names.PRIVATE: private,
            names.REMOVED: removed,
            names.RENAME: lambda value: _Texts(self._own_target(value, "__name__")),
            names.PATTERN: _pattern_class,
        }

    def attribute(self, value: Any, name: str, *default: Any) -> Any:
        """getattr(value, name[, default]) for an exact `name`, under the rules for names behind a dot."""
        if not names.is_private(name):
            if name in names.CLOSED:
                raise RuleViolation("closed-attribute", f"the attribute {name!r} is closed to cells")
            if name in names.GUARDED:
                return _guarded(value, name, *default)
            return getattr(value, name, *default)
        if names.is_dunder(name):
            return self._dunder(value, name, *default)
        return getattr(self.private(value, name), name, *default)

    def store(self, value: Any, name: str) -> Any:
        """`value`, if a cell may set or delete its attribute `name`."""
        if names.is_dunder(name):
            if name in names.DEFINABLE and is_class(value) and is_own(value):
                return value
            raise RuleViolation("attribute-store", f"the attribute {name!r} cannot be set here; define it in the class")
        if name in names.CLOSED:
            raise RuleViolation("closed-attribute", f"the attribute {name!r} is closed to cells")
        if names.is_private(name):
            return self.private(value, name)
        return self._own_target(value, name)

    def private(self, value: Any, name: str) -> Any:
        """`value`, if its private attribute `name` is the cell's own."""
        kind = type(value)
        if kind in self.known:
            return value
        subject = kind
        if kind is super:
            subject = _super_class(value)
        elif issubclass(kind, type):
            subject = value
            if hasattr(kind, name):
                # The metaclass's own: Color._convert_ makes an enum out of the contents of any loaded module.
                raise RuleViolation(
                    "private-attribute", f"{name!r} belongs to the metaclass {_title(kind)}, not to the class"
                )
        if is_plain(subject) or self._own_function(value):
            return value
        if name in names.TUPLE_METHODS and issubclass(subject, tuple):
            return value
        raise RuleViolation(
            "private-attribute",
            f"{name!r} is private to {_title(subject)}; only classes defined in cells have private names here",
        )

    def _own_target(self, value: Any, name: str) -> Any:
        kind = type(value)
        if is_own(kind) or (issubclass(kind, type) and is_own(value)) or self._own_function(value):
            return value
        if kind in facades.WRITABLE:
            return value
        raise RuleViolation(
            "attribute-store",
            f"cannot set {name!r} on {_title(kind)}; attributes can be set on instances of classes defined in cells",
        )

    def _own_function(self, value: Any) -> bool:
        return type(value) is types.FunctionType and value.__globals__ is self._space

    def _dunder(self, value: Any, name: str, *default: Any) -> Any:
        if name in names.TEXTS:
            return _text(value, name, *default)
        kind = type(value)
        subject = value if issubclass(kind, type) else kind
        if name in names.READABLE:
            if name in names.OWN_ONLY:
                return self._own_only(value, name, *default)
            if kind is super and is_own(_super_class(value)):
                return self._hook(value, name, *default)
            if is_own(subject):
                return self._hook(value, name, *default)
            if subject in _OPERABLE and (name in names.OPERATORS or name in _TARGETED):
                return self._hook(value, name, *default)
        raise RuleViolation("dunder-attribute", f"the attribute {name!r} of {_title(subject)} is closed to cells")

    def _own_only(self, value: Any, name: str, *default: Any) -> Any:
        kind = type(value)
        if name == "__class__" and is_own(kind):
            return kind
        if name == "__dict__":
            if is_plain(kind):
                return getattr(value, name, *default)
            if issubclass(kind, type) and is_own(value):
                return types.MappingProxyType(classes.members_of(value))
        if name == "__annotations__" and (self._own_function(value) or (issubclass(kind, type) and is_own(value))):
            return dict(getattr(value, name))
        if name == "__members__" and issubclass(kind, type) and is_own(value):
            return getattr(value, name, *default)
        raise RuleViolation("dunder-attribute", f"the attribute {name!r} of {_title(kind)} is closed to cells")

    def _hook(self, value: Any, name: str, *default: Any) -> Any:
        """A data-model method, called by name. The three that take a class or an attribute name check it."""
        found = getattr(value, name, *default)
        if name == "__new__":

            def make(kind: Any, /, *values: Any, **options: Any) -> Any:
                if not (is_class(kind) and is_own(kind)):
                    raise RuleViolation("foreign-instance", "__new__ makes instances of classes defined in cells only")
                return found(kind, *values, **options)

            return make
        if name in ("__setattr__", "__delattr__"):
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
        return found


_TARGETED = frozenset({"__new__", "__setattr__", "__delattr__"})
_OPERABLE = classes.PLAIN_TYPES | frozenset(classes.EXCEPTIONS.values())


class _Texts:
    """`f.__name__ = text`, for the cell's own functions and classes: exact text only."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def __setitem__(self, name: str, text: Any) -> None:
        if not (name == "__doc__" and text is None):
            text = _exact(text)
        setattr(self._target, name, text)


def _exact(name: Any) -> str:
    """`name` as an exact str: a subclass could answer the checks differently than the lookup."""
    if type(name) is str:
        return name
    if issubclass(type(name), str):
        return str.__str__(name)
    raise TypeError(f"attribute name must be string, not '{_title(type(name))}'")


def _title(kind: type) -> str:
    return str(type.__getattribute__(kind, "__name__"))[:100]


def _text(value: Any, name: str, *default: Any) -> Any:
    """An attribute that is text, or None; nothing else ever comes out of it."""
    found = getattr(value, name, *default)
    if found is None or type(found) is str or (default and found is default[0]):
        return found
    if issubclass(type(found), str):
        return str.__str__(found)
    raise RuleViolation("dunder-attribute", f"the attribute {name!r} is not text here")


def _guarded(value: Any, name: str, *default: Any) -> Any:
    """A public attribute that needs a look at what it is: formatters, and the `obj` of an AttributeError."""
    if name == "obj":
        kind = type(value)
        subject = _super_class(value) if kind is super else value if issubclass(kind, type) else kind
        if subject is not None and issubclass(subject, AttributeError):
            raise RuleViolation("closed-attribute", "'obj' of an AttributeError is closed to cells; use its text")
        return getattr(value, name, *default)
    found = getattr(value, name, *default)
    kind = type(found)
    if kind is types.BuiltinMethodType and issubclass(type(found.__self__), str) and found.__name__ in _STR_FORMATS:
        return _bound_format(str.__str__(found.__self__), found.__name__)
    if kind is types.MethodDescriptorType and found.__objclass__ is str and found.__name__ in _STR_FORMATS:
        return _unbound_format(found.__name__)
    plain = found.__func__ if kind is types.MethodType else found
    if kind in (types.FunctionType, types.MethodType) and plain in _USER_FORMATS:
        if kind is types.FunctionType:
            return _unbound_format(plain.__name__)
        return _bound_format(str(found.__self__.data), plain.__name__)
    formatter = issubclass(kind, type) and issubclass(found, string.Formatter)
    if formatter or (kind in (types.FunctionType, types.MethodType) and plain in _FORMATTER_METHODS):
        raise RuleViolation("format-attribute", "string.Formatter is closed to cells; use str.format() or an f-string")
    return found


_STR_FORMATS = frozenset({"format", "format_map"})
_USER_FORMATS = (collections.UserString.format, collections.UserString.format_map)
_FORMATTER_METHODS = tuple(
    vars(string.Formatter)[name] for name in ("format", "vformat", "_vformat", "get_value", "get_field")
)


def _bound_format(template: str, name: str) -> Callable[..., str]:
    if name == "format":

        def format(*values: Any, **named: Any) -> str:  # noqa: A001 - stands in for the method
            _check_template(template)
            return template.format(*values, **named)

        return format

    def format_map(mapping: Any, /) -> str:
        _check_template(template)
        return template.format_map(mapping)

    return format_map


def _unbound_format(name: str) -> Callable[..., str]:
    def method(template: Any, /, *values: Any, **named: Any) -> str:
        if not issubclass(type(template), (str, collections.UserString)):
            raise TypeError(f"{name} takes a string first, not {_title(type(template))}")
        text = str.__str__(template) if issubclass(type(template), str) else _exact(template.data)
        return _bound_format(text, name)(*values, **named)

    return method


def _check_template(template: str) -> None:
    for name in names.format_walks(template):
        if not names.is_public(name):
            raise RuleViolation(
                "format-attribute",
                f"a format string cannot read the attribute {name!r}; pass the value itself as an argument",
            )


def _pattern_class(kind: Any) -> Any:
    """A class for a pattern with positional parts: the attributes that it reads are checked as if written out."""
    if is_class(kind):
        parts = getattr(kind, "__match_args__", ())
        if type(parts) is not tuple or not all(type(part) is str and names.is_public(part) for part in parts):
            raise RuleViolation(
                "pattern-attribute",
                f"__match_args__ of {_title(kind)} must be a tuple of public attribute names to stand in a pattern",
            )
    return kind


def _classes_of(modules: frozenset[str]) -> Callable[[], frozenset[type]]:
    """The classes that the session's facades hand out: a cell may derive from these."""
    found: list[frozenset[type]] = []

    def handed_out() -> frozenset[type]:
        if not found:
            loaded = [facades.load(name) for name in facades.NAMES if _granted(name, modules)]
            values = [getattr(facade, name) for facade in loaded for name in dir(facade)]
            found.append(frozenset(value for value in values if is_class(value)))
        return found[0]

    return handed_out


def _granted(name: str, modules: frozenset[str]) -> bool:
    """A submodule's facade comes with its package's."""
    return name in modules or name.partition(".")[0] in modules


def _import_guards(modules: frozenset[str]) -> dict[str, object]:
    def load(name: str) -> Any:
        if name in facades.NAMES and _granted(name, modules):
            return facades.load(name)
        offered = ", ".join(sorted(each for each in facades.NAMES if _granted(each, modules)))
        raise ModuleRefused("import-module", f"the module {name!r} is not available in cells; available: {offered}")

    def import_(name: str, whole: bool) -> Any:
        found = load(name)
        if whole or "." not in name:
            return found
        return load(name.partition(".")[0])

    def import_from(module: str, name: str) -> Any:
        found = load(module)
        try:
            return getattr(found, name)
        except AttributeError as error:
            if f"{module}.{name}" in facades.NAMES:
                return load(f"{module}.{name}")
            raise NameRefused("import-name", str(error).rstrip(".")) from None

    return {names.IMPORT: import_, names.IMPORT_FROM: import_from}
