"""Parses a model's reply into cells and a final answer, and formats the feedback on its cells.

Every function accepts any text, never raises because of it, and takes time proportional to its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from rlm_secure.errors import CellError, CellException, CellRefused
from rlm_secure.inert import excerpt, inert_for_model
from rlm_secure.types import REPLResult, RLMIteration

#: Characters of one cell's output that the model is shown.
FEEDBACK_CHARACTERS: Final = 20_000

_CELL = re.compile(r"```repl[^\S\n]*\n")
_CELL_END: Final = "\n```"
_FENCE = re.compile(r"^([^\S\n]*)(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
#: How models mark Python that they mean to be run, other than with a "```repl" line.
_PYTHON: Final = frozenset({"python", "python3", "py", "ipython", "repl", "tool_code"})
_FINAL = re.compile(r"^[^\S\n]*(FINAL_VAR|FINAL)\(", re.MULTILINE)
_PARENTHESIS = re.compile(r"[()]")
_NOT_FOUND = re.compile(r"(?:Error: )?Variable '.*' not found", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FinalText:
    """A reply that ends the run with `text`, as the model wrote it, stripped of surrounding whitespace."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalVar:
    """A reply that ends the run with the variable `name`, if there is one."""

    name: str

    @property
    def is_name(self) -> bool:
        """Whether it could be a variable's name; `rows[0]` and `a.b` are not."""
        return self.name.isidentifier() and len(self.name) <= 128


@dataclass(frozen=True, slots=True)
class FinalUnclear:
    """A reply whose final answer has no clear end: `problem` explains it to the model."""

    problem: str


@dataclass(frozen=True, slots=True)
class _Fence:
    """A Markdown fence outside of cells: its language ("" without one), its place, and the code in it.

    `code` is None where the fence is never closed.
    """

    language: str
    start: int
    end: int
    code: str | None


class _RunsCode(Protocol):
    """An environment, as far as FINAL_VAR needs one."""

    def execute_code(self, code: str) -> Any: ...


def find_code_blocks(text: str | None) -> list[str]:
    """The cells of a reply: the text between a "```repl" line and the next line that begins with "```".

    Other fences are not cells. Whitespace around a cell is dropped, and so are empty cells.
    """
    cells = ((text or "")[begin:end].strip() for _, begin, end in _cells(text or "") if end >= 0)
    return [cell for cell in cells if cell]


def find_cells(text: str | None) -> list[str]:
    """As find_code_blocks; in a reply without a `repl` block, its one block of Python, or its one block without a mark.

    That one block is not a cell where a final answer stands beside it: the answer may quote it.
    """
    text = text or ""
    if next(_cells(text), None) is not None:
        return find_code_blocks(text)
    fences = _fences(text, [])
    meant = [fence for fence in fences if fence.language in _PYTHON]
    if len(fences) == 1 and not fences[0].language:
        meant = fences
    if len(meant) != 1 or any(fence.code is None for fence in fences) or parse_final(text) is not None:
        return []
    return [meant[0].code] if meant[0].code else []


def python_blocks(text: str | None) -> list[str]:
    """Every block of Python in a reply, in order; if none is marked as one, those without a mark. None is empty."""
    text = text or ""
    cells = list(_cells(text))
    fences = [fence for fence in _fences(text, cells) if fence.code]
    blocks = [(fence.start, fence.code) for fence in fences if fence.language in _PYTHON]
    blocks += [(start, text[begin:end].strip()) for start, begin, end in cells if end >= 0]
    blocks = blocks or [(fence.start, fence.code) for fence in fences if not fence.language]
    return [code for _, code in sorted(blocks, key=lambda block: block[0]) if code]


def why_nothing_ran(text: str | None) -> str | None:
    """Why a reply of which nothing was run has no cell, as the end of a sentence; None if it has no block at all."""
    text = text or ""
    cells = list(_cells(text))
    fences = _fences(text, cells)
    if not cells and not fences:
        return None
    if any(end < 0 for *_, end in cells) or any(fence.code is None for fence in fences):
        return "it ends inside a block, which has no closing line"
    if cells or not any(fence.code for fence in fences):
        return "its `repl` block is empty" if cells else "its block is empty"
    if len(fences) > 1:
        return f"none of its {len(fences)} blocks is marked `repl`"
    marked = f"marked `{excerpt(fences[0].language, 20)}`" if fences[0].language else "not marked"
    return f"its block is {marked}"


def parse_final(text: str | None) -> FinalText | FinalVar | FinalUnclear | None:
    """The content of FINAL_VAR(...) or, if there is none, of FINAL(...); None if the reply has no final answer.

    It counts only at the start of a line (after optional blanks), outside code fences, and with balanced parentheses.
    The first of its kind counts. Nothing is cut off silently: when words follow FINAL(...) on its line, as in
    "FINAL(1) this 2) that)", the answer extends to the line's end if the line ends with an unmatched closing
    parenthesis, and is unclear otherwise.
    """
    text = text or ""
    candidates = list(_FINAL.finditer(text))
    if not candidates:
        return None
    code = _code_spans(text)
    closing = _closing_parentheses(text, {match.end() - 1 for match in candidates})
    answer: FinalText | FinalUnclear | None = None
    for match in candidates:
        end = closing.get(match.end() - 1)
        if end is None or _inside(match.start(1), code):
            continue
        if match.group(1) == "FINAL_VAR":
            return FinalVar(_unquoted(text[match.end() : end].strip()))
        answer = answer or _whole(text, match.end(), end)  # only once: each call scans the rest of the line
    return answer


def _whole(text: str, begin: int, end: int) -> FinalText | FinalUnclear:
    """The content of a FINAL( that is closed at `end`, taking into account the rest of that line."""
    newline = text.find("\n", end)
    tail = text[end + 1 : newline if newline >= 0 else len(text)].rstrip()
    if not any(map(str.isalnum, tail)):
        return FinalText(text[begin:end].strip())
    depth = 0
    for match in _PARENTHESIS.finditer(tail):
        if match.group() == "(":
            depth += 1
        elif depth:
            depth -= 1
        elif match.end() == len(tail):
            return FinalText(text[begin : end + len(tail)].strip())
    return FinalUnclear(
        "words follow the parenthesis that closes FINAL( on its line; write nothing behind the answer, or assign the "
        "answer to a variable and name that in FINAL_VAR"
    )


def find_final_answer(text: str | None, environment: _RunsCode | None = None) -> str | None:
    """The final answer that a reply gives as FINAL(...) or FINAL_VAR(name), or None.

    FINAL_VAR is looked up by running `print(FINAL_VAR('name'))` in `environment`; the result is None without an
    environment or when the variable does not exist. Raises only what `environment.execute_code` raises.
    """
    final = parse_final(text)
    if isinstance(final, FinalText):
        return final.text
    if not isinstance(final, FinalVar):
        return None
    if environment is None or not final.is_name:
        return None
    result = environment.execute_code(f"print(FINAL_VAR({final.name!r}))")
    # Our own environments return the answer itself; with others only the printed text is available.
    answer = getattr(result, "final_answer", None)
    if isinstance(answer, str):
        return answer
    printed = str(result.stdout).strip()
    if _NOT_FOUND.match(printed) or (not printed and str(result.stderr).strip()):
        return None
    return printed


def check_for_final_answer(response: str | None, repl_env: _RunsCode | None, logger: Any = None) -> str | None:  # noqa: ARG001
    """Upstream's older name for find_final_answer; `logger` is not used."""
    return find_final_answer(response, repl_env)


def format_execution_result(result: REPLResult) -> str:
    """What a model reads about one cell: its output, its errors, and the names of its variables.

    Control characters are escaped, so that a cell cannot forge what a terminal or a log shows.
    """
    parts = [f"\n{inert_for_model(text)}" for text in (result.stdout, result.stderr) if text]
    if result.dropped_bytes:
        parts.append(f"[{result.dropped_bytes} more bytes of output were dropped]")
    if result.error is not None and not _told(result.error, result.stderr):
        parts.append(f"\n{type(result.error).__name__}: {inert_for_model(str(result.error))}")
    names = [
        name
        for name, value in result.locals.items()
        if not name.startswith("_") and isinstance(value, str | int | float | list | dict | tuple)
    ]
    if names:
        parts.append(f"REPL variables: {names}\n")
    return "\n\n".join(parts) if parts else "No output"


def format_iteration(iteration: RLMIteration, max_character_length: int = FEEDBACK_CHARACTERS) -> list[dict[str, str]]:
    """The messages that a turn adds to the history: the reply and, if it had cells, one message on their results.

    At most `max_character_length` characters of each cell's output are kept; the code is not repeated.
    """
    messages = [{"role": "assistant", "content": iteration.response}]
    outputs = [
        truncated(format_execution_result(block.result), max_character_length) for block in iteration.code_blocks
    ]
    if len(outputs) == 1:
        messages.append({"role": "user", "content": f"REPL output:\n{outputs[0]}"})
    elif outputs:
        numbered = (f"REPL output (block {number}):\n{output}" for number, output in enumerate(outputs, 1))
        messages.append({"role": "user", "content": "\n\n".join(numbered)})
    return messages


def truncated(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, with the number of those that were cut off."""
    return text if len(text) <= limit else f"{text[:limit]}... + [{len(text) - limit} chars...]"


def _told(error: CellError, stderr: str) -> bool:
    """Whether `stderr` already contains `error`: a cell's own exceptions and refusals are printed there in full."""
    return str(error) in stderr or (bool(stderr) and isinstance(error, CellException | CellRefused))


def _cells(text: str) -> Iterator[tuple[int, int, int]]:
    """(opening fence, begin, end) of each cell, in order; the end is -1 for one that is never closed."""
    opening = _CELL.search(text)
    while opening:
        # The newline before the cell may also be the one before its closing fence: then the cell is empty.
        end = text.find(_CELL_END, opening.end() - 1)
        yield opening.start(), opening.end(), end
        if end < 0:
            return
        opening = _CELL.search(text, end + len(_CELL_END))


def _code_spans(text: str) -> list[tuple[int, int]]:
    """The sorted, disjoint spans of code in a reply: its cells, and Markdown fences of backticks or tildes."""
    cells = list(_cells(text))
    spans = _spans(text, cells) + [(fence.start, fence.end) for fence in _fences(text, cells)]
    spans.sort()
    return _merged(spans)


def _spans(text: str, cells: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(start, len(text) if end < 0 else end + len(_CELL_END)) for start, _, end in cells]


def _fences(text: str, cells: Sequence[tuple[int, int, int]]) -> list[_Fence]:
    """The Markdown fences of a reply that lie outside its cells."""
    spans = _spans(text, cells)
    starts = [start for start, _ in spans]
    fences: list[_Fence] = []
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        _, mark, rest = match.groups()
        cell = bisect_right(starts, match.start(2)) - 1
        if cell >= 0 and match.start(2) < spans[cell][1]:
            continue
        if opening is not None:
            if mark.startswith(opening[2]) and not rest.strip():
                code = _shifted(text[opening.end() + 1 : match.start()], len(opening[1]))
                fences.append(_Fence(_language(opening), opening.start(2), match.end(), code))
                opening = None
        elif mark[0] == "~" or "`" not in rest:
            opening = match
    if opening is not None:
        fences.append(_Fence(_language(opening), opening.start(2), len(text), None))
    return fences


def _language(opening: re.Match[str]) -> str:
    return next(iter(opening[3].split(None, 1)), "").lower()


def _shifted(code: str, indent: int) -> str:
    """`code` without the blanks that every line of an indented fence begins with, stripped as cells are."""
    if indent:
        blanks = ((line, len(line) - len(line.lstrip(" \t"))) for line in code.split("\n"))
        code = "\n".join(line[min(indent, each) :] for line, each in blanks)
    return code.strip()


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping spans of a sorted list."""
    apart: list[tuple[int, int]] = []
    for start, end in spans:
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


def _inside(position: int, spans: list[tuple[int, int]]) -> bool:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]


def _closing_parentheses(text: str, openings: set[int]) -> dict[int, int]:
    """Map each of `openings` that is closed to its closing position, in one pass over the text."""
    stack: list[int] = []
    closing: dict[int, int] = {}
    for match in _PARENTHESIS.finditer(text, min(openings)):
        if match.group() == "(":
            stack.append(match.start())
        elif stack:
            opening = stack.pop()
            if opening in openings:
                closing[opening] = match.start()
    return closing


def _unquoted(name: str) -> str:
    quoted = len(name) >= 2 and name[0] == name[-1] and name[0] in "\"'`"
    return name[1:-1].strip() if quoted else name
