"""Compiles and executes cells. No other file of the guest compiles or executes text.

For any text, `compile_cell` gives a code object or raises CellRefused. What the code can do is limited by the names
that transformer.py accepts, and by the guards in its globals (guards.py).
"""

from __future__ import annotations

import ast
import re
import warnings
from types import CodeType
from typing import Any

from . import guardrails, inlined, names
from .guardrails import Guardrail, Rules
from .registry import FILENAME
from .transformer import CellTransformer, ScreenFinding

_EXCERPT = 200  # characters of offending text in a refusal
_ALSO = 4  # further findings listed in its text
_LINE_END = re.compile(r"\r\n|\r|\n")
_TOO_COMPLEX = "the cell is nested too deeply to compile; split the expression over several statements"


class CellRefused(Exception):
    """A cell was refused before it ran. `str()` is text that a model can act on.

    `rule` is a kebab-case id, `message` one sentence with the allowed alternative, `line` and `column` are
    1-based (0 where the whole cell is meant), `text` is the offending source, at most 200 characters. `more` has a
    line for each further finding.
    """

    def __init__(
        self, rule: str, message: str, *, line: int = 0, column: int = 0, text: str = "", more: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.line = line
        self.column = column
        self.text = text[:_EXCERPT]
        self.more = more

    def __str__(self) -> str:
        where = f" at line {self.line}, column {self.column}" if self.line else ""
        shown = f"    {self.text}\n" if self.text else ""
        also = "".join(f"    also {each}\n" for each in self.more)
        return f"The cell was refused before it ran: {self.rule}{where}\n{shown}{self.message}.\n{also}"


def compile_cell(source: str, *, source_bytes: int, ast_nodes: int, file: str = FILENAME) -> CodeType:
    """Check the cell `source` and return its code.

    `source_bytes` limits its UTF-8 length, `ast_nodes` the size of its syntax tree. `file` is the name in tracebacks; a
    function counts as a cell's own by it. Raises CellRefused, and nothing else, for any text.
    """
    _require_size(source, source_bytes)
    try:
        tree = _parse(source)
        screen = CellTransformer(ast_nodes)
        screen.screen(tree)
        if screen.findings:
            raise _refusal(screen.findings, source)
        return _compiled(tree, file, screen.flags)
    except CellRefused:
        raise
    except Exception as error:
        raise _unreadable(error, source) from None


def check(source: str, rules: Rules, *, source_bytes: int, ast_nodes: int) -> list[Guardrail]:
    """Why the cell `source` should not be run, without running it: what `compile_cell` would refuse, as "syntax" or
    "language", and what guardrails.py finds. Raises nothing, for any text."""
    found: list[Guardrail] = []
    try:
        _require_size(source, source_bytes)
        tree = _parse(source)
        against = guardrails.findings(tree, rules, ast_nodes)
        screen = CellTransformer(ast_nodes)
        screen.screen(tree)
        found += against or []
        if against is None and not screen.findings:
            said = f"the cell has more than {ast_nodes} syntax nodes; split it into smaller cells"
            screen.refuse(tree, "tree-size", said)
        for each in screen.findings:
            found.append(_guardrail("language", f"{each.rule}: {each.message}", getattr(each.node, "lineno", 0)))
        if not screen.findings:
            _compiled(tree, FILENAME, screen.flags)
    except Exception as error:
        refused = error if isinstance(error, CellRefused) else _unreadable(error, source)
        syntax = refused.rule == "syntax"
        said = refused.message if syntax else f"{refused.rule}: {refused.message}"
        found.append(_guardrail("syntax" if syntax else "language", said, refused.line))
    return guardrails.ordered(found)


def _guardrail(reason: str, message: str, line: int) -> Guardrail:
    # A message may quote the text, in which each half of a character may stand alone.
    return Guardrail(reason, message.encode("utf-8", "replace").decode()[: guardrails.MOST_TEXT], line)


def compile_plain(source: str) -> CodeType:
    """Compile a cell without any check, for test sessions without the language layer. Raises CellRefused."""
    try:
        tree = _parse(source)
        _keep_value(tree)
        return compile(tree, FILENAME, "exec", dont_inherit=True, optimize=0)
    except Exception as error:
        raise _unreadable(error, source) from None


def mentioned(code: CodeType) -> frozenset[str]:
    """The names that `code`, and the functions and classes in it, look up, bind or read as attributes."""
    found: set[str] = set()
    waiting = [code]
    while waiting:
        each = waiting.pop()
        found.update(each.co_names)
        waiting += [inner for inner in each.co_consts if type(inner) is CodeType]
    return frozenset(found)


def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Execute `code` in `namespace`. Raises whatever the code raises."""
    waiting = eval(code, namespace)
    if waiting is not None:  # it awaits at its top
        vars(namespace["__builtins__"])[names.RUN_ASYNC](waiting)


def _require_size(source: str, source_bytes: int) -> None:
    size = len(source) if source.isascii() else len(source.encode("utf-8", "surrogatepass"))
    if size > source_bytes:
        raise CellRefused(
            "source-bytes", f"the cell has {size} bytes, the limit is {source_bytes}; split it into smaller cells"
        )


def _compiled(tree: ast.Module, file: str, flags: int) -> CodeType:
    _keep_value(tree)
    code: CodeType = compile(tree, file, "exec", flags=flags, dont_inherit=True, optimize=0)
    if not inlined.relied_on(code):
        raise CellRefused("too-complex", "the scopes of this cell's names are too complex; give each its own name")
    return code


def _parse(source: str) -> ast.Module:
    _quiet()
    tree = compile(source, FILENAME, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True, optimize=0)
    assert isinstance(tree, ast.Module)
    return tree


def _keep_value(tree: ast.Module) -> None:
    """Bind names.VALUE to the value of the last expression, where the cell ends on one, as a notebook shows it."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        target = ast.copy_location(ast.Name(names.VALUE, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)


def _quiet() -> None:
    """Keep the compiler's warnings about a cell (an invalid escape, `is` with a literal) out of its output."""
    first: Any = warnings.filters[0] if warnings.filters else None
    if first is None or getattr(first[3], "pattern", None) != FILENAME:
        warnings.filterwarnings("ignore", module=FILENAME)


def _refusal(findings: list[ScreenFinding], source: str) -> CellRefused:
    """A refusal with the first finding in the order of the text, and a line for each of some others."""
    lines = _LINE_END.split(source)
    ordered = sorted(findings, key=lambda each: _start(each.node, len(lines)))
    # Only look up findings that are shown: each look-up reads a whole line, and a cell may be one long line.
    (line, column, text), *others = [_place(each.node, lines) for each in ordered[: _ALSO + 1]]
    first, *also = ordered
    more = [
        f"line {at}, column {col}: {each.rule} ({found[:60]})"
        for each, (at, col, found) in zip(also, others, strict=False)
    ]
    if len(also) > _ALSO:
        more.append(f"{len(also) - _ALSO} more")
    return CellRefused(first.rule, first.message, line=line, column=column, text=text, more=tuple(more))


def _start(node: ast.AST, count: int) -> tuple[int, int]:
    """1-based line and 0-based column in bytes; (0, 0) for a node that is in none of the `count` lines."""
    line: int = getattr(node, "lineno", 0)
    if not 0 < line <= count:
        return 0, 0
    start: int = getattr(node, "col_offset", 0)
    if isinstance(node, ast.Attribute) and node.end_lineno == line and node.end_col_offset is not None:
        # For a.b.c, point at c: all three attribute nodes begin where a does.
        start = max(start, node.end_col_offset - len(node.attr.encode()))
    return line, start


def _place(node: ast.AST, lines: list[str]) -> tuple[int, int, str]:
    """1-based line, 1-based column in characters, and the node's text up to the end of its first line."""
    line, start = _start(node, len(lines))
    if not line:
        return 0, 0, ""
    raw = lines[line - 1].encode("utf-8", "surrogatepass")
    ends_here = getattr(node, "end_lineno", None) == line
    end: int = getattr(node, "end_col_offset", len(raw)) if ends_here else len(raw)
    text = raw[start:end].decode("utf-8", "replace").strip()
    return line, len(raw[:start].decode("utf-8", "replace")) + 1, text[:_EXCERPT]


def _unreadable(error: Exception, source: str) -> CellRefused:
    """A refusal of text that Python itself cannot parse or compile."""
    if isinstance(error, SyntaxError):
        lines = _LINE_END.split(source)
        line = error.lineno if error.lineno and 0 < error.lineno <= len(lines) else 0
        text = lines[line - 1].strip() if line else ""
        said = f"{type(error).__name__}: {str(error.msg)[:500]}; fix the cell and send it again"
        return CellRefused("syntax", said, line=line, column=error.offset or 0 if line else 0, text=text)
    if isinstance(error, MemoryError | RecursionError):
        return CellRefused("too-complex", _TOO_COMPLEX)
    if isinstance(error, UnicodeError):
        return CellRefused("encoding", "the cell has a lone surrogate, which is no character; write it as a \\u escape")
    return CellRefused("syntax", f"{type(error).__name__}: {error}"[:500] + "; fix the cell and send it again")
