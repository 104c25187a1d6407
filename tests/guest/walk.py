"""Everything that a cell can reach from a value by public attributes, items, classes and cheap instances."""

from __future__ import annotations

import builtins
import io
import itertools
import os
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping

from rlm_secure.guest.language.names import CLOSED, GUARDED

DEPTH = 6
_UNREADABLE = CLOSED | GUARDED
_CONTAINERS = (tuple, list, set, frozenset)
#: Values that lead nowhere.
_LEAVES = (str, bytes, int, float, complex, type(None), type(Ellipsis), type(NotImplemented))

_REMOVED = (
    "open", "eval", "exec", "compile", "__import__", "input", "breakpoint", "globals", "locals", "memoryview",
)  # fmt: skip
#: By identity; the objects are held, so that nothing else comes to lie where one was.
FORBIDDEN_OBJECTS = {
    id(value): (name, value)
    for name, value in {
        **{name: getattr(builtins, name) for name in _REMOVED},
        "io.open_code": io.open_code,
        "io.FileIO": io.FileIO,
        "type": type,
        "FunctionType": types.FunctionType,
        "CodeType": types.CodeType,
        "CellType": types.CellType,
        "ModuleType": types.ModuleType,
        "sys.modules": sys.modules,
        "os.environ": os.environ,
        "stdout": sys.__stdout__,
        "stderr": sys.__stderr__,
        "stdin": sys.__stdin__,
    }.items()
}
FORBIDDEN_TYPES = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType, memoryview)
FORBIDDEN_ORIGINS = frozenset({"os", "posix", "nt", "sys", "subprocess", "importlib", "_imp", "gc", "ctypes", "_ctypes",
                               "builtins.eval", "_io.open", "signal", "socket", "_socket", "marshal", "pickle", "_pickle"})  # fmt: skip
_GROUPS = type(next(itertools.groupby("a"))[1])
_OF_A_CALLABLE, _OF_ITEMS = type(iter(len, 0)), type(iter(type("_", (), {"__getitem__": lambda _self, at: at})()))
_SEARCH = re.compile("").scanner("").search
#: Iterators of C code that let go of what they are asking when they are asked again: see guest/language/facades/iterators.py.
_REENTRANT: tuple[type, ...] = (
    itertools.accumulate, itertools.chain, itertools.cycle, itertools.groupby, _GROUPS, itertools.islice,
    itertools.pairwise, itertools.zip_longest, *([itertools.batched] if sys.version_info >= (3, 12) else []), _OF_ITEMS,
)  # fmt: skip
#: These too, unless what they hold is known. No cell gets a class of them: type() gives it another one.
REENTRANT_CLASSES = {id(kind): kind.__name__ for kind in (*_REENTRANT, itertools.count, _OF_A_CALLABLE)}


def reentrant(value: object) -> str | None:
    """What is wrong with `value` as an iterator of C code. Runs no code of a cell."""
    kind = type(value)
    if id(kind) not in REENTRANT_CLASSES:
        return None
    if kind is itertools.count or kind is _OF_A_CALLABLE:
        with warnings.catch_warnings():  # count says that Python 3.14 has no such method
            warnings.simplefilter("ignore")
            held = value.__reduce__()[1]
        if kind is itertools.count and all(type(each) in (int, float) for each in held):
            return None
        if kind is _OF_A_CALLABLE and (type(held[0]) is tuple or _of_a_scanner(held[0])):  # ended, or of finditer
            return None
    return f"is a {kind.__name__}, which is not safe when asked again"


def _of_a_scanner(value: object) -> bool:
    return type(value) is type(_SEARCH) and type(value.__self__) is type(_SEARCH.__self__)  # type: ignore[attr-defined]


def shared_containers() -> dict[int, str]:
    """id -> where, of every mutable container that a loaded module or one of its classes holds."""
    found: dict[int, str] = {}
    for title, module in list(sys.modules.items()):
        if title.startswith(("tests", "test_", "pytest", "_pytest")) or not isinstance(module, types.ModuleType):
            continue
        found[id(vars(module))] = f"{title}.__dict__"
        for name, value in list(vars(module).items()):
            if type(value) in (dict, list, set, bytearray):
                found[id(value)] = f"{title}.{name}"
            elif isinstance(value, type) and value.__module__ == title:
                for inner, held in list(vars(value).items()):
                    if type(held) in (dict, list, set, bytearray):
                        found[id(held)] = f"{title}.{name}.{inner}"
    return found


def complaint(value: object, shared: Mapping[int, str]) -> str | None:
    """What is wrong with a cell holding `value`, if anything is."""
    if id(value) in FORBIDDEN_OBJECTS:
        return f"is {FORBIDDEN_OBJECTS[id(value)][0]}"
    if isinstance(value, types.BuiltinMethodType) and value.__name__ in ("__subclasses__", "mro"):  # new each time
        return f"is {value.__qualname__}"
    if isinstance(value, FORBIDDEN_TYPES):
        return f"is a {type(value).__name__}"
    if type(value) is dict and "__builtins__" in value:
        return "is a namespace with builtins"
    if id(value) in shared:
        return f"is the mutable {shared[id(value)]}"
    if why := reentrant(value):
        return why
    if isinstance(value, type) and issubclass(value, type):
        return "is a metaclass"
    if callable(value) and getattr(value, "__module__", None) in FORBIDDEN_ORIGINS:
        return f"is {value.__module__}.{getattr(value, '__name__', '?')}"
    return None


def children(value: object) -> Iterator[tuple[str, object]]:
    """Name and value of what one step from `value` gives."""
    if isinstance(value, _LEAVES) and not isinstance(value, type):
        if type(value) in _LEAVES:
            return
    if isinstance(value, _CONTAINERS):
        for at, item in enumerate(list(value)[:2000]):
            yield f"[{at}]", item
    elif isinstance(value, Mapping | types.MappingProxyType):
        for key, item in list(value.items())[:2000]:
            yield f"[{key!r:.40}]", item
    for name in dir(value):
        if name.startswith("_") or name in _UNREADABLE:
            continue
        try:
            yield f".{name}", getattr(value, name)
        except Exception:
            continue
    if isinstance(value, type):
        try:
            yield "()", value()
        except Exception:
            return
    elif not isinstance(value, types.FunctionType):  # type() of a cell never answers FunctionType: see tests/bypasses
        yield ".__class__", type(value)


def walk(roots: Mapping[str, object], shared: Mapping[int, str], depth: int = DEPTH) -> Iterator[tuple[str, object]]:
    """Breadth first, each object once: the path as a cell would write it, and the object.

    Does not go on from an object that is itself a finding.
    """
    seen: set[int] = set()
    keep: list[object] = []  # ids stay taken
    level = list(roots.items())
    for _ in range(depth + 1):
        deeper = []
        for path, value in level:
            if id(value) in seen:
                continue
            seen.add(id(value))
            keep.append(value)
            yield path, value
            if complaint(value, shared):
                continue
            deeper.extend((path + step, item) for step, item in children(value))
        level = deeper
