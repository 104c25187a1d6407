"""Random calls of C functions on objects whose hooks count who holds them: `borrowed SEED CALLS` prints what it found.

Each hook empties every container, so that nothing but the code that called it holds its `self` and its arguments. Where
sys.getrefcount says that nobody does, that code goes on with an object that the hook may free.
`borrowed SEED CALLS plain NAMES...` calls these alone, in Python as it is, without what facades put in their place.
"""

from __future__ import annotations

import binascii
import bisect
import builtins
import collections
import copy
import csv
import datetime
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import resource
import statistics
import string
import sys
import textwrap
import unicodedata
from collections.abc import Callable
from typing import Any, TextIO

_OPERATORS = (
    "eq ne lt le gt ge add radd iadd sub rsub isub mul rmul imul truediv rtruediv floordiv rfloordiv mod rmod divmod "
    "rdivmod pow rpow and rand or ror xor rxor iand ior ixor lshift rlshift rshift rrshift matmul neg pos abs invert "
    "contains getitem setitem delitem call enter exit missing round trunc floor ceil"
).split()
_ANSWERS: dict[str, Callable[[], Any]] = {
    "index": lambda: 3, "int": lambda: 3, "float": lambda: 1.5, "complex": lambda: 1j, "len": lambda: 2,
    "length_hint": lambda: 2, "hash": lambda: 5, "bool": lambda: True, "str": lambda: "k", "repr": lambda: "r",
    "format": lambda: "q", "bytes": lambda: b"x", "fspath": lambda: "x", "next": lambda: 1,
    "iter": lambda: iter([1, 2]), "reversed": lambda: iter([1]),
}  # fmt: skip
#: Known, and so not looked for again. Hooks: a list's repr borrows what it shows; a list compares items that it borrows,
#: up to Python 3.12. OrderedDict frees its nodes under its own feet, and deque.index its items, up to Python 3.12.
_OLD = sys.version_info < (3, 13)
KNOWN_HOOKS = {"repr"} | (set("lt le gt ge".split()) if _OLD else set())
KNOWN_CALLS = {"deque.index"} if _OLD else set()
_MODULES = (
    binascii, bisect, builtins, collections, copy, csv, datetime, decimal, fractions, functools, heapq, itertools, json,
    math, operator, re, statistics, string, textwrap, unicodedata,
)  # fmt: skip
_TYPES = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, complex, slice, range, collections.Counter,
    collections.defaultdict, collections.ChainMap, collections.deque,
)  # fmt: skip
#: They wait, print, read files, run code, or change the process for all that comes after them.
_NOT_CALLED = set(
    "open input exec eval compile breakpoint exit quit help __import__ globals locals print copyright credits license "
    "memoryview purge field_size_limit OrderedDict setcontext register_dialect unregister_dialect".split()
)
#: They replace or rebuild the object, or read its own attributes.
_NOT_ASKED = set(
    "__init_subclass__ __class__ __subclasshook__ __new__ __getattribute__ __setattr__ __delattr__ __dir__ __reduce__ "
    "__reduce_ex__ __getstate__ __setstate__ __sizeof__ __init__ __doc__ __hash__ __class_getitem__".split()
)

FUNCTIONS: list[tuple[str, Any]] = [
    (f"{module.__name__}.{name}", function)
    for module in _MODULES
    for name in dir(module)
    if name not in _NOT_CALLED and not name.startswith("_") and callable(function := getattr(module, name))
]
METHODS = [
    (kind, name)
    for kind in _TYPES
    for name in dir(kind)
    if name not in _NOT_ASKED and f"{kind.__name__}.{name}" not in KNOWN_CALLS
]


class Search:
    """Calls, drawn from `seed`, of the functions with these names, or of all. What borrows is written to `out`."""

    def __init__(self, seed: int, names: list[str], out: TextIO) -> None:
        self._out = out
        self.random = random.Random(seed)
        self._functions = [each for each in FUNCTIONS if not names or each[0] in names]
        self._methods = [each for each in METHODS if not names or f"{each[0].__name__}.{each[1]}" in names]
        self._found: set[tuple[str, str]] = set()
        self._containers: list[Any] = []
        self._now = self._given = ""

    def empty(self) -> None:
        for each in self._containers:
            try:
                (dict.clear if type(each) in (dict, collections.Counter) else type(each).clear)(each)
            except Exception:
                continue  # it is being changed, as its type says

    def count(self, hook: str, free: bool) -> None:
        if free and (self._now, hook) not in self._found:
            self._found.add((self._now, hook))
            print(self._now, hook, self._given, file=self._out, flush=True)  # at once: what borrows may crash next

    def operator(self, name: str) -> Callable[..., Any]:
        def hook(self_: Any, *values: Any) -> Any:
            self.empty()
            self.count(name, sys.getrefcount(self_) <= 2)
            for at in range(len(values)):
                # Held by the tuple of the arguments, and by the call of getrefcount.
                if isinstance(values[at], Hooked):
                    self.count(f"{name} of {at + 1}", sys.getrefcount(values[at]) <= 2)
            answer = self.random.choice([NotImplemented, NotImplemented, NotImplemented, 1, True, False, "x", None])
            if answer is None:
                raise ValueError
            return answer

        return hook

    def answer(self, name: str, make: Callable[[], Any]) -> Callable[..., Any]:
        def hook(self_: Any, *_: Any) -> Any:
            self.empty()
            self.count(name, sys.getrefcount(self_) <= 2)
            return make()

        return hook

    def kind(self) -> type:
        hooks: dict[str, Any] = {"__hash__": lambda _: 5}
        for name in _OPERATORS:
            if self.random.random() < 0.5 and name not in KNOWN_HOOKS:
                hooks[f"__{name}__"] = self.operator(name)
        for name, make in _ANSWERS.items():
            if self.random.random() < 0.5 and name not in KNOWN_HOOKS:
                hooks[f"__{name}__"] = self.answer(name, make)
        if self.random.random() < 0.2:
            hooks["__getattr__"] = self.answer("getattr", lambda: self.random.choice([1, "x", len]))
        base = self.random.choice([object, object, object, int, str, float, dict, list, tuple])
        try:
            return type("A", (Hooked, base) if base is not object else (Hooked,), hooks)
        except TypeError:  # no such layout
            return type("A", (Hooked,), hooks)

    def run(self) -> None:
        """One call."""
        self._containers.clear()
        kinds = [self.kind(), self.kind()]
        chosen = self.random

        def made() -> Any:
            try:
                return chosen.choice(kinds)()
            except Exception:
                return 1

        def container(depth: int = 0) -> Any:
            items = [made() if chosen.random() < 0.75 else chosen.choice([1, "k", 2.0, None]) for _ in range(chosen.choice([1, 2, 3]))]
            which, found = chosen.randrange(9), items[:]
            try:
                if which == 3:
                    found = {f"k{at}" if chosen.random() < 0.6 else each: each for at, each in enumerate(items)}  # type: ignore[assignment]
                elif which == 4:
                    found = set(items)  # type: ignore[assignment]
                elif which in (5, 6):
                    found = collections.Counter() if which == 5 else collections.defaultdict(made)  # type: ignore[assignment]
                    for at, each in enumerate(items):
                        found[f"k{at}" if at else "k"] = each  # type: ignore[call-overload]
                elif which == 7 and chosen.random() < 0.3:
                    found = collections.deque(items)  # type: ignore[assignment]
            except Exception:
                found = items[:]
            self._containers.append(found)
            if depth == 0 and chosen.random() < 0.25:
                found = [found, container(1)]
                self._containers.append(found)
            return found

        def argument() -> Any:
            which = chosen.random()
            if which < 0.6:
                return container()
            if which < 0.75:
                return made()
            if which < 0.8:
                return iter(container())
            return chosen.choice([1, "k", None, 0, 2, "kk", len, [3], {"k": 1}, operator.add, lambda *v: v[0] if v else 1, lambda *_: NotImplemented, functools.cmp_to_key(lambda *_: 0)])

        if self._functions and (chosen.random() < 0.55 or not self._methods):
            self._now, function = chosen.choice(self._functions)
            values = [argument() for _ in range(chosen.choice([1, 1, 2, 2, 3]))]
        else:
            kind, name = chosen.choice(self._methods)
            values = [self._instance(kind, argument, container)]
            values += [argument() for _ in range(chosen.choice([0, 1, 1, 2]))]
            self._now, function = f"{kind.__name__}.{name}", getattr(kind, name)
        options = {}
        if chosen.random() < 0.15:
            options[chosen.choice("key default start reverse maxlen initial strict indent k sep".split())] = argument()
        self._given = f"({', '.join(type(each).__name__ for each in values)}) {[*options]}"
        try:
            made_of_it = function(*values, **options)
            del values, options
            if hasattr(made_of_it, "__next__"):
                for _ in range(6):
                    next(made_of_it)
        except (Exception, SystemExit, GeneratorExit, KeyboardInterrupt):
            pass

    def _instance(self, kind: Any, argument: Callable[[], Any], container: Callable[[], Any]) -> Any:
        for _ in range(30):
            if type(value := argument()) is kind:
                return value
        try:
            value = kind(container())
        except Exception:
            return None
        if hasattr(value, "clear"):
            self._containers.append(value)
        return value


class Hooked:
    """An object with hooks."""

    __slots__ = ()


def main(seed: int, calls: int, names: list[str]) -> None:
    if not names:
        from rlm_secure.guest.language import facades

        facades.preload()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    search = Search(seed, names, out)
    for _ in range(calls):
        search.run()
    print("done", file=out, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:])
