"""Turns an exception of a cell into text for the model and an error kind for the host."""

from __future__ import annotations

from opcode import opmap

from ..language.compiler import CellRefused
from ..language.registry import derives, title
from ..language.violations import RuleViolation, said

_FRAMES = 8
#: Read as the interpreter stores them: no code of the exception's class runs.
_traceback_of = BaseException.__dict__["__traceback__"].__get__
_arguments_of = BaseException.__dict__["args"].__get__
_code_of = SystemExit.__dict__["code"].__get__


#: The text for a cell whose time is used up. Fixed, never the exception's own: a cell can raise any class itself.
INTERRUPTED = "the cell was interrupted: its time is used up"
_OUT_OF_MEMORY = "the cell asked for more memory than the policy grants (limits.memory_bytes)"


class CellInterrupted(BaseException):
    """Raised in a cell by a signal from the host: its wall-clock time or its CPU time is used up."""


class FinalAnswerCalled(BaseException):
    """Raised by final_answer(): ends the cell, which now has an answer."""


def leaves(error: BaseException) -> bool:
    """Whether `error` ends the cell as planned: exit(), or SystemExit with no code or the code 0."""
    if not derives(type(error), SystemExit):
        return False
    code = _code_of(error)
    return code is None or (type(code) is int and code == 0)


def fault(error: BaseException, source: str, *, interrupted: bool) -> tuple[str, str, str | None, str]:
    """`(kind, message, rule, text)`: one of the fixed kinds for the host, one sentence, the rule, the whole text.

    `interrupted` says whether the worker really was interrupted. A cell can obtain the class of such an exception,
    because `__exit__` receives it, and can raise it itself; it then counts as an ordinary exception.
    """
    if type(error) is CellRefused:
        return "refused", f"{error.rule}: {error.message}", error.rule, str(error)
    kind = type(error)
    text = _frames(error, source)
    # Compare the exact class: isinstance() would read `__class__`, which an exception of a cell can fake.
    if interrupted and kind is CellInterrupted:
        return "interrupted", INTERRUPTED, None, f"{text}{INTERRUPTED}\n"
    if derives(kind, RuleViolation) and (by_a_guard := said(error)):  # type: ignore[arg-type]
        rule, message = by_a_guard
        return "refused", f"{rule}: {message}.", rule, f"{text}{rule}: {message}.\n"
    if kind is MemoryError and _arguments_of(error) == () and not _by_a_statement(error):
        return "memory", _OUT_OF_MEMORY, None, f"{text}MemoryError: {_OUT_OF_MEMORY}\n"
    name = title(kind)
    try:
        message = str.__str__(str(error))
    except BaseException:  # __str__ is the cell's own code, and can raise anything
        message = "<its message could not be built>"
    message = message if len(message) <= 2000 else message[:2000] + f"... [{len(message)} characters]"
    if derives(kind, SystemExit):
        message = "the cell asked to exit; the cell is over, the session goes on"
    line = f"{name}: {message}" if message else name
    return "exception", line, None, f"{text}{line}\n"


#: Instructions at which a generator waits. An exception thrown into it brings a traceback that the thrower chose.
_WAITING = frozenset(opmap[name] for name in ("RETURN_GENERATOR", "POP_TOP", "YIELD_VALUE", "RESUME"))
#: Those, and the instructions of a frame that raised the exception by its own statement.
_RAISING = _WAITING | {opmap[name] for name in ("RAISE_VARARGS", "RERAISE", "SEND")}


def _by_a_statement(error: BaseException) -> bool:
    """Whether a statement raised `error`, rather than the interpreter when it ran out of memory."""
    trace = _traceback_of(error)
    while trace is not None:
        at = trace.tb_frame.f_code.co_code[trace.tb_lasti]
        if at in _WAITING or (trace.tb_next is None and at in _RAISING):
            return True
        trace = trace.tb_next
    return False


def _frames(error: BaseException, source: str) -> str:
    """The traceback of the cell's own frames, newest last, with their source lines."""
    lines = source.split("\n")
    entries = []
    trace = _traceback_of(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("<cell"):
            entries.append((trace.tb_lineno, code.co_name))
            if len(entries) > 2 * _FRAMES:
                del entries[_FRAMES]
        trace = trace.tb_next
    if not entries:
        return ""
    parts = ["Traceback (most recent call last):\n"]
    for number, name in entries:
        where = "" if name == "<module>" else f", in {name}"
        parts.append(f"  Cell, line {number}{where}\n")
        if 0 < number <= len(lines):
            parts.append(f"    {lines[number - 1].strip()[:160]}\n")
    return "".join(parts)
