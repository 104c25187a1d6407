"""What no cell may hold, and what no cell may change."""

from __future__ import annotations

import builtins
import collections
import io
import itertools
import operator
import sys
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

from rlm_secure.guest.language import facades, names
from tests.bypasses import host
from tests.guest.walk import FORBIDDEN_OBJECTS, FORBIDDEN_ORIGINS, REENTRANT_CLASSES, reentrant, shared_containers

from . import packages

_order = type.__dict__["__mro__"].__get__
_members = type.__dict__["__dict__"].__get__
_MACHINERY = frozenset({types.ModuleType, types.FrameType, types.CodeType, types.CellType, memoryview})
_DESCRIPTORS = frozenset({types.GetSetDescriptorType, types.MemberDescriptorType})
_SLOTS = frozenset({types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType})
_OPEN_SLOTS = names.DEFINABLE | {"__class_getitem__", "__dir__"}
_LEAVES = frozenset({int, float, complex, bool, bytes, type(None), type(...), type(NotImplemented), range})
_CONTAINERS = frozenset({list, tuple, set, frozenset, collections.deque})
_GUEST = "rlm_secure.guest"
_DEPTH = 3
_ITEMS = 50


@cache
def _shared() -> dict[int, str]:
    # What a package keeps is the session's own: its arrays, figures and settings are there to be changed.
    return {key: name for key, name in shared_containers().items() if not packages.own(name)}


class Kinds:
    """Judges objects for one namespace of cells: what is allowed there is what it holds at the start."""

    def __init__(self, space: dict[str, Any]) -> None:
        self._space = space
        self._shared = {key: name for key, name in _shared().items() if key != id(space)}
        safe = vars(space["__builtins__"])
        held = [value for name, value in safe.items() if name.isidentifier()]
        for name in facades.NAMES:
            made = facades.load(name)
            held += [getattr(made, member) for member in facades.members(made)]
        held += [space[name] for name in space]
        self._allowed = {id(value): value for value in held}
        # Exception, the class that its __base__ reads as, and what cells have under its own name: str, type, getattr ...
        open_guards = (names.EXCEPTION, names.ANY_EXCEPTION, names.STRING, *names.ORIGINAL.values())
        self._guards = {
            id(value): name for name, value in safe.items() if not name.isidentifier() and name not in open_guards
        }

    def complaint(self, value: Any, depth: int = _DEPTH) -> str | None:
        """What is wrong with a cell holding `value` or what is in it, if anything is. Runs no code of a cell."""
        kind = type(value)
        if kind in _LEAVES:
            return None
        if kind is str:
            return "holds the canary" if host.CANARY in value else None
        key = id(value)
        if key in FORBIDDEN_OBJECTS:
            return f"is {FORBIDDEN_OBJECTS[key][0]}"
        if key in self._guards:
            return f"is the guard {self._guards[key]}"
        if value is BaseException or value is BaseExceptionGroup:
            return f"is the class {value.__name__}"
        if key in self._shared:
            return f"is the mutable {self._shared[key]}"
        if key in REENTRANT_CLASSES:
            return f"is the class {REENTRANT_CLASSES[key]}"
        if why := reentrant(value):
            return why
        order = _order(kind)
        if type in order:
            if type in _order(value):
                return "is a metaclass"
            module = _members(value).get("__module__")
            if tuple in _order(value) and "_fields" in _members(value):
                return None  # a namedtuple that compiled code made says that importlib did
            if type(module) is str and module.partition(".")[0] in FORBIDDEN_ORIGINS:
                return f"is the class {module}.{type.__getattribute__(value, '__name__')}"
            return None
        for each in order:
            if each in _MACHINERY:
                return f"is a {each.__name__}"
        if types.TracebackType in order:
            return "is a traceback"
        if io.IOBase in order and io.StringIO not in order:
            return f"is a {kind.__name__}"
        if depth and kind in _CONTAINERS:
            return self._any(list(value)[:_ITEMS], depth)
        if depth and (kind is dict or dict in order):
            keys = dict.keys(value)
            if any(type(key) is str and key in ("__builtins__", "__loader__", "__spec__") for key in keys):
                return "is a namespace"
            return self._any([*list(keys)[:_ITEMS], *list(dict.values(value))[:_ITEMS]], depth)
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.BuiltinFunctionType:
            if value.__name__ in ("__subclasses__", "mro", "__reduce_ex__", "__reduce__", "__getattribute__", "__prepare__"):
                return f"is {value.__qualname__}"
            if value.__module__ in FORBIDDEN_ORIGINS:
                return f"is {value.__module__}.{value.__name__}"
            return None
        if kind is types.MethodType:
            if value.__func__ is _INIT_OF_PROTOCOLS and self._space["__name__"] == _members(type(value.__self__)).get("__module__"):
                return None  # what `super().__init__` of an own instance is
            return self.complaint(value.__func__, depth - 1) or (self.complaint(value.__self__, depth - 1) if depth else None)
        if kind in _DESCRIPTORS:
            name, owner = value.__name__, value.__objclass__
            if _members(owner).get("__module__") == self._space["__name__"]:
                return None
            if name in names.CLOSED or (name.startswith("_") and name != "__weakref__") or owner in (type, types.FunctionType):
                return f"is the descriptor {owner.__name__}.{name}"
            return None
        if kind in _SLOTS:
            name = value.__name__
            owner = getattr(value, "__objclass__", None)
            if (owner is type and kind is not types.MethodWrapperType) or (names.is_dunder(name) and name not in _OPEN_SLOTS):
                return f"is the slot {value.__qualname__}"
            return None
        if kind.__module__ == _GUEST or str(_members(kind).get("__module__")).startswith(_GUEST):
            title = type.__getattribute__(kind, "__name__")
            if title in ("Attributes", "_Texts", "Builtins", "Repl", "SessionWorker"):
                return f"is the guard's {title}"
        return None

    def given(self, hook: str, values: tuple[Any, ...], named: dict[str, Any]) -> str | None:
        """`complaint` about what a hook was called with. `__exit__` and its kind get a traceback, closed as it is."""
        if len(values) >= 3 and type(values[-1]) is types.TracebackType and BaseException in _order(type(values[-2])):
            values = values[:-1]
        for value in values:
            if why := self.complaint(value):
                return why
        for value in named.values():
            if why := self.complaint(value):
                return why
        return None

    def _any(self, values: list[Any], depth: int) -> str | None:
        for value in values:
            if why := self.complaint(value, depth - 1):
                return why
        return None

    def _function(self, function: types.FunctionType) -> str | None:
        space = function.__globals__
        if space is self._space or id(function) in self._allowed or "<locals>" in function.__qualname__:
            return None
        module = str(space.get("__name__"))
        if function.__code__.co_filename == f"<{module}>":
            return None  # of guest/language/library, in the Python of cells: it has only the name of what it stands for
        top = module.partition(".")[0]
        if top in FORBIDDEN_ORIGINS or module in ("rlm_secure.guest.language.guards", "rlm_secure.guest.language.attributes"):
            return f"is the function {module}.{function.__qualname__}"
        if not module.startswith(_GUEST) and not packages.own(module) and "." not in function.__qualname__ and function.__name__.startswith("_") and space.get(function.__name__) is function:
            return f"is the private function {module}.{function.__qualname__}"
        return None


# ---- state ------------------------------------------------------------------------------------------------------

#: What the interpreter or a module keeps for itself there, and nobody reads back as anything else.
_CACHES = frozenset(
    {
        "_abc_impl", "__slotnames__", "__annotations__", "__abstractmethods__", "_cache", "_cache2", "_caches", "_cleanups",
        "_member_map_", "_value2member_map_", "_unhashable_values_", "_member_names_", "__warningregistry__",
        "_regex_cache", "_made", "onceregistry", "filters", "_pattern_type", "__parameters__", "_overload_registry",
        "__dataclass_params__", "_inverted_", "__static_attributes__", "__firstlineno__", "cache", "_hashable_values_",
        "_a85chars", "_a85chars2", "_b85chars", "_b85chars2", "_b85dec", "_b32rev", "_b32tab2", "_hextobyte",  # made when first used
        "_sha512",  # random.seed looks it up when it is first given text
        "public_templates",  # what a template of format() reads depends on its text alone
        "_STANDS_FOR", "_STAND_INS",  # one entry for each class that type() was asked about
        "_dialects",  # csv.register_dialect is there to add to it
    }
)  # fmt: skip
_LEFT_OUT = ("tests", "crawler", "pytest", "_pytest", "hypothesis", "rlm_secure.environments", "rlm_secure.tools", "threading", "selectors")  # fork changes them
_MUTABLE = frozenset({dict, list, set, bytearray, collections.deque, collections.OrderedDict, collections.defaultdict})


def _frozen(value: Any) -> Any:
    """What may not change of a shared value: the identities in it."""
    if type(value) in _MUTABLE:
        if isinstance(value, dict):
            return tuple((id(key), id(item)) for key, item in list(value.items()))
        return bytes(value) if type(value) is bytearray else tuple(map(id, value))
    return None


def _modules() -> Iterator[tuple[str, types.ModuleType]]:
    for title, module in list(sys.modules.items()):
        if packages.own(title):
            continue
        if isinstance(module, types.ModuleType) and (title.endswith("crawler.holes") or not title.startswith(_LEFT_OUT)):
            yield title, module


_values = operator.methodcaller("values")
_parts = operator.attrgetter("__dict__", "__code__", "__defaults__", "__kwdefaults__")


class _Shared:
    """What one module shares: its namespace, those of its classes and functions, and the containers in them."""

    def __init__(self, title: str, module: types.ModuleType) -> None:
        self._title, self._space = title, vars(module)
        self._functions = self._own(types.FunctionType)
        self._mappings = [self._space, *map(_members, self._own(type)), *map(vars, self._functions)]
        held = [value for each in self._mappings for value in each.values() if type(value) in _MUTABLE]
        self._mappings += [value for value in held if isinstance(value, dict)]
        self._others = [value for value in held if not isinstance(value, dict)]
        # Objects that are kept keep their ids.
        self._sizes, self._objects, self._before = self._size(), [*self._all()], self._described()

    def changes(self) -> list[str]:
        """What is not as it was. Loops in C see that all is the same in a twentieth of the time that descriptions take."""
        if self._size() == self._sizes and all(map(operator.is_, self._all(), self._objects)):
            return []
        before, now = self._before, self._described()  # in any order, and without what caches hold
        return [name for name in before.keys() | now.keys() if before.get(name, now) != now.get(name, before)]

    def _own(self, kind: type) -> list[Any]:
        values = [value for name, value in list(self._space.items()) if name not in _CACHES]
        return [value for value in values if (isinstance(value, kind) if kind is type else type(value) is kind) and value.__module__ == self._title]

    def _size(self) -> list[int]:
        return [*map(len, self._mappings), *map(len, self._others)]

    def _all(self) -> Iterator[Any]:
        """Each key, value, item and part of a function, always in the same order; the numbers of a bytearray are objects that stay."""
        inside = itertools.chain(self._mappings, map(_values, self._mappings), self._others, map(_parts, self._functions))
        return itertools.chain.from_iterable(inside)

    def _described(self) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for name, value in list(self._space.items()):
            if name in _CACHES:
                continue
            written = f"{self._title}.{name}"
            seen[written] = (id(value), _frozen(value))
            if isinstance(value, type) and value.__module__ == self._title:
                for inner, held in list(_members(value).items()):
                    if inner not in _CACHES:
                        seen[f"{written}.{inner}"] = (id(held), _frozen(held))
            elif type(value) is types.FunctionType and value.__module__ == self._title:
                seen[f"{written}.__dict__"] = _frozen(vars(value))
                seen[f"{written}.__code__"] = (id(value.__code__), id(value.__defaults__), id(value.__kwdefaults__))
        return seen


class State:
    """A picture of all that library code shares."""

    def __init__(self, mine: dict[str, Any]) -> None:
        self._shared = {title: _Shared(title, module) for title, module in _modules() if vars(module) is not mine}
        self._mine = mine
        self._builtins = self._look()

    def changes(self) -> list[str]:
        """What is not as it was."""
        # After a session is sealed no file can be read, a module's least of all.
        if loaded := {f"{title} was imported" for title, module in _modules() if title not in self._shared and vars(module) is not self._mine}:
            return sorted(loaded)
        now = self._look()
        changed = [name for name in self._builtins.keys() | now.keys() if self._builtins.get(name) != now.get(name)]
        return sorted(itertools.chain(changed, *(each.changes() for each in self._shared.values())))

    def _look(self) -> dict[str, Any]:
        return {f"{name}.__dict__": _frozen(dict(_members(kind))) for name, kind in vars(builtins).items() if isinstance(kind, type)}


_INIT_OF_PROTOCOLS = vars(typing)["_no_init_or_replace_init"]


@cache
def _guest_classes() -> frozenset[type]:
    found = {host.Record}
    for title, module in _modules():
        if title.startswith(_GUEST):  # Decompress counts what it gave in one of its slots
            found.update(value for value in vars(module).values() if isinstance(value, type) and type(_members(value).get("__slots__")) is tuple and value.__name__ not in ("Decompress", "BytesIO"))
    return frozenset(found)


def sealed(value: Any) -> tuple[int, ...] | None:
    """The private side of an instance of the guest's own classes, which its own methods alone may set."""
    kind = type(value)
    if kind not in _guest_classes():
        return None
    found = []
    for each in _order(kind):
        for member in list(_members(each).values()):
            if type(member) is types.MemberDescriptorType:
                try:
                    found.append(id(member.__get__(value)))
                except AttributeError:
                    found.append(0)
    return tuple(found) or (tuple(map(id, vars(value).values())) if kind is host.Record else None)

