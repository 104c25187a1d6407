"""Cells: code that a model wrote, from a recorded run or from files. Never parsed by the host.

What a policy would refuse is decided in a sealed session, by the guest's own compiler, without running the cells.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlm_secure.audit.finding import Location, Unreadable
from rlm_secure.errors import EnvironmentUnavailable, RLMSecureError
from rlm_secure.policy import Policy
from rlm_secure.testing import unscreened
from rlm_secure.untrusted_json import MalformedJson, loads

#: Characters of JSON that are sent to one session; a session accepts at least 256 KiB of source.
_BATCH = 64 * 1024
_SECONDS = 10.0
_MAX_TEXT = 300

# Runs in the sealed session, where the compiler is already loaded. Cells that would be refused only when they run
# (an import, a removed builtin) are found by their syntax tree, which exists in this session only.
_SCREEN = """
import ast, json, sys
compiler, names = sys.modules["guest.language.compiler"], sys.modules["guest.language.names"]
def look(source):
    found = []
    try:
        compiler.compile_cell(source, source_bytes=LIMITS["source_bytes"], ast_nodes=LIMITS["ast_nodes"])
    except compiler.CellRefused as refusal:
        found.append([refusal.rule, refusal.line, refusal.column, refusal.message])
        if refusal.rule in ("syntax", "too-complex", "source-bytes", "tree-size", "encoding"):
            return found
    tree = ast.parse(source)
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "."]
        for module in modules:
            if module not in LIMITS["modules"]:
                found.append(["import", node.lineno, node.col_offset + 1, "cells may not import " + module])
        if isinstance(node, ast.Name) and node.id in names.ABSENT and node.id not in stored:
            rule, message = names.absent(node.id)
            found.append([rule, node.lineno, node.col_offset + 1, message])
    return found[:20]
results = []
for source in SOURCES:
    try:
        results.append(look(source))
    except BaseException as error:
        results.append([["unreadable", 0, 0, type(error).__name__]])
print(json.dumps(results))
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `location` is where its text starts; `label` names it, such as "turn 2, cell 1"."""

    source: str
    location: Location
    label: str = ""
    inline: bool = True
    """Whether the lines of the cell are lines of the file. False for a cell inside a JSON line."""


@dataclass(frozen=True, slots=True)
class RefusedCell:
    """What a policy refuses in a cell, and where."""

    cell: Cell
    rule: str
    line: int
    column: int
    message: str

    @property
    def location(self) -> Location:
        """The place in the file."""
        start = self.cell.location
        if not self.cell.inline or self.line < 1:
            return start
        return Location(start.file, start.line + self.line - 1, max(self.column, 1))


@dataclass(frozen=True, slots=True)
class CellsSubject:
    """Cells, and what a policy refuses in them."""

    file: str
    cells: tuple[Cell, ...]
    refused: tuple[RefusedCell, ...]


def screen(file: str, cells: Sequence[Cell], policy: Policy, deadline: float = math.inf) -> CellsSubject:
    """Find out what `policy` would refuse in `cells`.

    Raises Unreadable if no session can be opened, or if `deadline`, a time of time.monotonic(), passes before all cells
    are compiled.
    """
    refused: list[RefusedCell] = []
    for batch in _batches(cells):
        refused += _look(batch, policy, deadline)
    return CellsSubject(file, tuple(cells), tuple(refused))


def _batches(cells: Sequence[Cell]) -> list[list[Cell]]:
    batches: list[list[Cell]] = []
    room = 0
    for cell in cells:
        size = len(json.dumps(cell.source))
        if size > room or not batches:
            batches.append([])
            room = max(_BATCH, size)
        batches[-1].append(cell)
        room -= size
    return batches


def _look(cells: Sequence[Cell], policy: Policy, deadline: float) -> list[RefusedCell]:
    if time.monotonic() > deadline:
        raise Unreadable("the deadline passed before all of its cells were compiled; give them more time, or fewer")
    limits = {
        "source_bytes": policy.language.source_bytes,
        "ast_nodes": policy.language.ast_nodes,
        "modules": list(policy.language.modules),
    }
    given = {"LIMITS": limits, "SOURCES": [cell.source for cell in cells]}
    program = f"import json\nglobals().update(json.loads({json.dumps(json.dumps(given))}))\n{_SCREEN}"
    try:
        with unscreened(policy="strict") as session:
            result = session.run(program, timeout=_SECONDS)
    except EnvironmentUnavailable as error:
        raise Unreadable(f"cells are compiled in a sealed session, and none can be made here: {error}") from None
    except RLMSecureError as error:
        raise Unreadable(f"the session that compiles cells ended: {error}") from None
    found = _decoded(result.stdout, len(cells))
    if found is None:
        if len(cells) > 1:
            return [each for cell in cells for each in _look([cell], policy, deadline)]
        reason = str(result.error or result.stderr).strip().splitlines()[-1:] or ["no answer"]
        return [RefusedCell(cells[0], "too-complex", 0, 0, f"compiling it ended its session: {reason[0][:_MAX_TEXT]}")]
    return [
        RefusedCell(cell, str(rule)[:64], _number(line), _number(column), str(message)[:_MAX_TEXT])
        for cell, entries in zip(cells, found, strict=True)
        for rule, line, column, message in entries
    ]


def _decoded(text: str, count: int) -> list[list[tuple[Any, Any, Any, Any]]] | None:
    """Decode the answer of a session that compiled hostile text; None unless it has exactly the expected shape."""
    try:
        value = loads(text)
    except MalformedJson:
        return None
    if not isinstance(value, list) or len(value) != count:
        return None
    for entries in value:
        if not isinstance(entries, list) or not all(isinstance(each, list) and len(each) == 4 for each in entries):
            return None
    return [[(each[0], each[1], each[2], each[3]) for each in entries] for entries in value]


def _number(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 10_000_000 else 0
