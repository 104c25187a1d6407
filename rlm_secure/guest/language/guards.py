"""Builds the globals of cells: the builtins, and the guards that the transformer's calls refer to."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

from . import attributes, classes, formatting, library, names, registry
from .attributes import Attributes, exact
from .facades import iterators
from .facades.identity import identity
from .facades.late import Builtins
from .facades.system import redirections
from .imports import NAMES, import_guards
from .names import VALUE
from .registry import is_class, title
from .violations import (
    AttributeRefused,
    BuiltinRefused,
    FileRefused,
    InputRefused,
    ModuleRefused,
    RuleViolation,
)

__all__ = ["VALUE", "RuleViolation", "build_globals", "files", "has_files", "is_internal"]

_HARMLESS_BUILTINS = names.words(
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float "
    "format frozenset hash hex int isinstance issubclass len list map max min next object oct ord pow property "
    "range repr reversed round set slice sorted staticmethod str sum super tuple zip "
    "None True False Ellipsis NotImplemented"
)

_NONE: Any = object()


def is_internal(name: str) -> bool:
    """Whether `name` in a cell's globals is internal, and must not be shown, returned or kept."""
    return not name.isidentifier() or names.is_dunder(name) or name in names.HOOKS


def build_globals(
    modules: frozenset[str], print_: Callable[..., None], loaded: dict[str, Any] | None = None
) -> dict[str, object]:
    """New globals for the cells of one session.

    `modules` are the modules that `import` may name; `print_` is the cells' print. `loaded` are the modules written in
    the Python of cells that the session already has. The guards are among the builtins,
    under names that are no identifiers, so no cell can use them.
    """
    space: dict[str, object] = {"__name__": registry.CELL, "__doc__": None}
    registry.register_globals(space)
    guard = attributes.session(space)
    safe: dict[str, object] = {name: getattr(builtins, name) for name in _HARMLESS_BUILTINS}
    safe.update(classes.EXCEPTIONS)
    safe.update(_attribute_builtins(guard))
    safe.update(_inlined(guard, safe))
    safe.update(_scope_builtins(guard, space))
    safe["exit"] = safe["quit"] = _leave
    safe["BaseException"] = Exception
    safe["type"] = safe[names.ORIGINAL["type"]] = classes.Kind
    safe.update(_print_builtin(print_))
    safe["id"], safe["iter"] = identity, iterators.iter
    safe["__build_class__"] = classes.class_builder(guard.known, space)
    safe[names.ATTRIBUTE] = guard.read
    safe[names.LOAD], safe[names.OPEN] = guard.load, guard.open
    safe[names.STORE] = guard.store
    safe[names.PRIVATE] = guard.private
    safe[names.RENAME] = guard.texts
    safe[names.OPERATED] = guard.operated
    safe[names.REMOVED] = _removed(space)
    safe[names.PATTERN] = _pattern_class
    safe[names.PATTERN_VALUE] = _pattern_value
    safe[names.CLASSES] = guard.known
    safe[names.TYPE] = type
    safe[names.REGISTRAR] = registry.registrar(space)
    safe[names.EXCEPTION] = Exception
    safe[names.ANY_EXCEPTION] = classes.ancestor(BaseException)
    safe[names.AWAITED] = _awaited
    safe[names.IMPORT], safe[names.IMPORT_FROM], import_all, safe[names.RUN_ASYNC] = import_guards(
        modules, lambda granted, held: build_globals(granted, print_, held), {} if loaded is None else loaded
    )
    safe[names.IMPORT_ALL] = functools.partial(import_all, space)
    safe[names.NAMESPACE] = _namespace(space, safe["globals"])
    # A module object, in which C code of the standard library finds an `__import__` that cells do not have. The
    # interpreter itself reads names from the module's dict, which has the contents of `safe`.
    space["__builtins__"] = Builtins(safe)
    return space


def files(functions: dict[str, Callable[..., Any]], print_: Callable[..., None]) -> Any:
    """The object `files` over the `functions` of a session's store."""
    space = build_globals(NAMES, print_)
    return library.load("files", space, {f"_{name}": function for name, function in functions.items()}).files


def _print_builtin(print_: Callable[..., None]) -> dict[str, object]:
    def print_with(
        *values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
    ) -> None:
        print_(*values, sep=sep, end=end, file=redirections.get("stdout") if file is None else file, flush=flush)

    def print(*values: Any, **options: Any) -> None:  # noqa: A001 - stands in for the builtin
        if options or redirections:
            print_with(*values, **options)
        else:  # nearly always; keywords would take half as long again
            print_(*values)

    print_with.__name__ = print_with.__qualname__ = "print"  # what errors call it
    return _named(print)


def has_files(space: dict[str, Any]) -> None:
    """Note in a session's globals that its cells have the object `files`, which the refusal of open() then names."""
    space[names.FILES] = True


def _attribute_builtins(guard: Attributes) -> dict[str, object]:
    """The builtins that take an attribute's name, each with the rules for names after a dot."""

    known, askable, read_native = guard.known, guard.askable, builtins.getattr

    def getattr(value: Any, name: str, /, *default: Any) -> Any:  # noqa: A001 - stands in for the builtin
        if type(name) is str and name in askable:
            return read_native(value, name, *default)
        if len(default) > 1:
            raise TypeError(f"getattr expected at most 3 arguments, got {2 + len(default)}")
        name = guard.asked(exact(name))
        try:
            return guard.read(value, name, *default)
        except AttributeRefused:
            if default:
                return default[0]
            raise

    def hasattr(value: Any, name: str, /) -> bool:  # noqa: A001 - stands in for the builtin
        if type(name) is str and name in askable:
            return builtins.hasattr(value, name)
        name = guard.asked(exact(name))
        if name not in names.READ_AFTER_QUESTION and (not names.is_private(name) or names.is_dunder(name)):
            return builtins.hasattr(value, name)  # the answer alone gives no access
        try:
            guard.read(value, name)
        except AttributeError:
            return False
        return True

    def setattr(value: Any, name: str, to: Any, /) -> None:  # noqa: A001 - stands in for the builtin
        if type(name) is str and name in askable and type(value) in known:
            builtins.setattr(value, name, to)
            return
        name = guard.asked(exact(name))
        builtins.setattr(guard.store(value, name), name, to)

    def delattr(value: Any, name: str, /) -> None:  # noqa: A001 - stands in for the builtin
        name = exact(name)
        builtins.delattr(guard.store(value, name), name)

    return _named(getattr, hasattr, setattr, delattr)


def _inlined(guard: Attributes, safe: dict[str, object]) -> dict[str, object]:
    """What the code of inlined.py refers to. The native builtins among them only get names that need no guard."""
    known, kinds, store, seen_by_guard, read = guard.known, guard.kinds, guard.store, guard.seen, builtins.getattr

    def settable(value: Any, name: str) -> Any:
        return value if type(value) in known else store(value, name)

    def kind_of(value: Any) -> type:
        kind = type(value)
        return kind if kind in kinds else seen_by_guard(kind)

    def text_attribute(value: Any, name: str) -> Any:
        found = read(value, name)
        return found if type(found) is str else attributes.text(found, name)

    made: dict[str, object] = {
        names.SETTABLE: settable, names.KINDS: kinds, names.SEEN: seen_by_guard, names.KIND_OF: kind_of,
        names.STRING: str, names.TEXT: attributes.text, names.TEXT_ATTRIBUTE: text_attribute,
        names.TEMPLATES: formatting.public_templates, names.ASKABLE: guard.askable,
    }  # fmt: skip
    for name, native in names.NATIVE.items():
        made[native], made[names.ORIGINAL[name]] = read(builtins, name), safe[name]
    return made


def _scope_builtins(guard: Attributes, space: dict[str, object]) -> dict[str, object]:
    """The builtins that list names. What they return is a copy, without the names of guards."""

    def globals() -> dict[str, object]:  # noqa: A001 - stands in for the builtin
        return _shown(space)

    def locals() -> dict[str, object]:  # noqa: A001 - stands in for the builtin
        return _variables(space, sys._getframe(1))

    def vars(value: Any = _NONE, /) -> Any:  # noqa: A001 - stands in for the builtin
        return _variables(space, sys._getframe(1)) if value is _NONE else guard.read(value, "__dict__")

    def dir(value: Any = _NONE, /) -> list[str]:  # noqa: A001 - stands in for the builtin
        if value is _NONE:
            return sorted(_variables(space, sys._getframe(1)))
        return [name for name in builtins.dir(value) if type(name) is str and _is_listed(name)]

    return _named(globals, locals, vars, dir)


def _named(*functions: Any) -> dict[str, object]:
    for function in functions:
        function.__qualname__ = function.__name__
    return {function.__name__: function for function in functions}


def _is_listed(name: str) -> bool:
    """Whether dir() shows the attribute `name`: the names of the interpreter's own records are left out."""
    return name in names.READABLE if names.is_dunder(name) else name not in names.CLOSED


def _shown(variables: Any) -> dict[str, object]:
    """A copy of `variables` without internal names, except `__name__`."""
    found = dict(variables).items()
    return {name: value for name, value in found if type(name) is str and (not is_internal(name) or name == "__name__")}


def _variables(space: dict[str, object], frame: Any) -> dict[str, object]:
    """A copy of the variables of `frame`, which must be one of a cell: library code may call what it is given."""
    if frame.f_globals is not space or frame.f_code.co_filename != registry.FILENAME:
        raise BuiltinRefused("removed-builtin", "the variables of other code cannot be listed; call locals() yourself")
    return _shown(frame.f_locals)


class _Namespace:
    """Sets, deletes and reads variables of cells by name, for `globals()[name] = value`. It never leaves the guards."""

    __slots__ = ("_space",)

    def __init__(self, space: dict[str, object]) -> None:
        self._space = space

    def __getitem__(self, name: str) -> object:
        return self._space[_variable(name)]

    def __setitem__(self, name: str, value: object) -> None:
        self._space[_variable(name)] = value

    def __delitem__(self, name: str) -> None:
        del self._space[_variable(name)]


def _variable(name: Any) -> str:
    """`name`, if a cell could also write it as a variable. Raises RuleViolation."""
    if type(name) is not str or is_internal(name):
        raise RuleViolation("dunder-name", "globals() takes the names of variables; those of guards cannot be bound")
    return name


def _namespace(space: dict[str, object], own: object) -> Callable[[Any], Any]:
    """The guard for `globals()[name] = value`: the namespace, unless the cell bound `globals` to something else."""

    def namespace(called: Any) -> Any:
        return _Namespace(space) if called is own else called()

    return namespace


def _leave(code: object = None) -> NoReturn:
    """The builtins exit() and quit()."""
    raise SystemExit(code)


_leave.__name__ = _leave.__qualname__ = "exit"


def _removed(space: dict[str, object]) -> Callable[[str], object]:
    """The guard for names that cells do not have: returns a variable of that name, or raises RuleViolation."""

    def removed(name: str) -> object:
        if name in space:
            return space[name]
        if name == "open" and names.FILES in space:
            raise FileRefused("removed-builtin", "open() does not exist here; use files.open(name, mode)")
        raise _REFUSED_AS.get(name, BuiltinRefused)(*names.absent(name))

    return removed


#: The refusals that are not a NameError, by name.
_REFUSED_AS: dict[str, type[RuleViolation]] = {
    "open": FileRefused,
    "input": InputRefused,
    "__import__": ModuleRefused,
}


async def _ready(value: Any) -> Any:
    return value


def _awaited(value: Any) -> Any:
    """What `await value` awaits. llm_query and tools answer at once: awaiting their plain values gives these."""
    return _ready(value) if type(value) in classes.PLAIN_TYPES else value


def _pattern_value(value: Any) -> SimpleNamespace:
    """What a pattern reads `value` from: the grammar has an attribute there, and `value` was one that has a guard."""
    return SimpleNamespace(value=value)


def _pattern_class(kind: Any) -> Any:
    """Check a class in a pattern with positional parts: the attributes in its `__match_args__` must be allowed.

    Raises RuleViolation and TypeError.
    """
    if not is_class(kind):
        if type in registry.order_of(type(kind)):
            raise RuleViolation("metaclass", "this class has a metaclass that nobody reviewed; use isinstance()")
        raise TypeError("called match pattern must be a class")
    # Read the stored object: a descriptor could give the check one tuple and the pattern another.
    parts = registry.stored(kind, "__match_args__")
    if parts is not None and not (type(parts) is tuple and all(map(names.is_positional, parts))):
        raise AttributeRefused(
            "pattern-attribute",
            f"__match_args__ of {title(kind)} must be a tuple of public attribute names to stand in a pattern",
        )
    return kind
