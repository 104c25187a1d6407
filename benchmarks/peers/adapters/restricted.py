"""RestrictedPython alone, in the host process: its own guards and builtins, and six modules by name."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
from RestrictedPython.Guards import (
    full_write_guard,
    guarded_iter_unpack_sequence,
    guarded_unpack_sequence,
    safe_builtins,
    safer_getattr_raise,
)
from RestrictedPython.Limits import limited_builtins
from RestrictedPython.PrintCollector import PrintCollector
from RestrictedPython.Utilities import utility_builtins

from benchmarks.peers.peer import Model, Peer, Said, Session, told

MODULES = ("collections", "json", "math", "random", "re", "string")
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "%=": operator.imod,
    "**=": operator.ipow, "//=": operator.ifloordiv, "|=": operator.ior, "&=": operator.iand, "^=": operator.ixor,
}  # fmt: skip


class Adapter(Peer):
    """No limit of time, memory or output can be told."""

    packages = ("RestrictedPython",)

    def open(self, model: Model | None = None) -> Session:
        return Names(model)


class Names(Session):
    """One dictionary of names, with the guards in it."""

    def __init__(self, model: Model | None) -> None:
        builtins = {**safe_builtins, **limited_builtins, **utility_builtins, "__import__": imported}
        self._names: dict[str, Any] = {
            "__builtins__": {**builtins, "dict": dict, "list": list, "sum": sum, "min": min, "max": max, "map": map},
            "__metaclass__": type,
            "__name__": "restricted",
            "_getattr_": safer_getattr_raise,
            "_getitem_": default_guarded_getitem,
            "_getiter_": default_guarded_getiter,
            "_inplacevar_": lambda sign, left, right: IN_PLACE[sign](left, right),
            "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
            "_unpack_sequence_": guarded_unpack_sequence,
            "_write_": full_write_guard,
        }
        if model is not None:
            self._names |= {"llm_query": model.one, "llm_query_batched": model.many}

    def run(self, code: str) -> Said:
        printed = PrintCollector()
        self._names["_print_"] = lambda *_: printed
        compiled = compile_restricted_exec(code, "<cell>")
        if compiled.code is None:
            return Said(error="refused: " + "; ".join(compiled.errors))
        try:
            exec(compiled.code, self._names)
        except Exception as raised:
            return Said(printed(), told(raised))
        return Said(printed())

    def load(self, text: str) -> None:
        self._names["context"] = text

    def close(self) -> None:
        self._names.clear()


def imported(name: str, *_: Any) -> Any:
    """The `__import__` of cells."""
    if name not in MODULES:
        raise ImportError(f"{name} is not allowed")
    return importlib.import_module(name)
