"""Run cells in this process: screened, as a session does, or plain, as the control of an attack."""

from __future__ import annotations

import contextlib
import io
import sys
import types
from typing import Any

from rlm_secure.guest.language import compiler, facades, guards, imports
from rlm_secure.guest.language.violations import RuleViolation

from .walk import FORBIDDEN_OBJECTS

LIMITS = {"source_bytes": 256 * 1024, "ast_nodes": 50_000}
ALL = imports.NAMES
FILE = "<cell>"

facades.preload()


class Session:
    """One namespace and what its cells print."""

    def __init__(self, modules: frozenset[str] = ALL) -> None:
        self.out = io.StringIO()
        self.space: dict[str, Any] = guards.build_globals(modules, self._print)

    def run(self, source: str) -> str:
        """Run a cell and return what it printed. Raises what it raises, or Refusal."""
        self.out.seek(0)
        self.out.truncate()
        compiler.run(compiler.compile_cell(source, **LIMITS), self.space)
        return self.out.getvalue()

    def outcome(self, source: str) -> str:
        """ "ran", or the id of the rule that stopped the cell, or the name of its exception."""
        try:
            self.run(source)
        except (compiler.CellRefused, RuleViolation) as refused:
            return refused.rule
        except Exception as error:
            return type(error).__name__
        return "ran"

    def _print(
        self, *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False
    ) -> None:
        print(*values, sep=sep, end=end, file=self.out if file is None else file, flush=flush)


def rule_of(source: str) -> str | None:
    """The rule that refuses `source` before it runs, or None."""
    try:
        compiler.compile_cell(source, **LIMITS)
    except compiler.CellRefused as refusal:
        return refusal.rule
    return None


def plain(source: str, names: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """Run `source` as plain Python; what it printed, and its namespace."""
    module = types.ModuleType("__main__")  # where dataclasses looks up the names in annotations that are text
    space = vars(module)
    space.update(names or {})
    out = io.StringIO()
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, FILE, "exec", dont_inherit=True), space)
    finally:
        sys.modules["__main__"] = before
    return out.getvalue(), space


_MACHINERY = (types.FrameType, types.CodeType, types.ModuleType, types.CellType)


def is_loot(value: object) -> bool:
    """Whether an attack that holds `value` has won: machinery, a namespace, a removed builtin, a class that opens
    files, or the word that attacks leave where they could write.
    """
    kind = type(value)
    if value == "won" if kind is str else id(value) in FORBIDDEN_OBJECTS:
        return True
    if kind is types.BuiltinMethodType and value.__name__ == "__subclasses__":
        return True
    if kind is dict and ("__builtins__" in value or "open" in value or "__import__" in value):
        return True
    if kind is list and len(value) > 100 and all(isinstance(each, type) for each in value):
        return True
    if kind is types.MappingProxyType and "'__dict__': <attribute" in repr(value):
        return True
    return issubclass(kind, _MACHINERY)
