"""RestrictedPython alone, in this process, with the guards and builtins that it comes with.

    rlm-secure audit --env examples.adapters.restricted:open_session

It rewrites the code and refuses what it does not know; no wall of the operating system stands behind it. It has
no limit of time or memory. Here an alarm ends code that runs too long, where this is the main thread: code that
catches everything in a loop, and a single long operation in C, outlive it.
"""

from __future__ import annotations

import copy
import operator
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
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

from rlm_secure.testing import Adapter, Said

#: What `name += value` may do; RestrictedPython leaves this guard to whoever deploys it.
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "//=": operator.ifloordiv,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}

#: No more characters than this are kept of what a run prints.
MOST_PRINTED = 64 * 2**20


class TimeIsOver(BaseException):
    """Raised in the code by the alarm. No Exception, so that `except Exception` in the code lets it pass."""


class Collector(PrintCollector):
    """What `print` in the code writes to, with an end: otherwise this process would keep whatever it is given."""

    def __init__(self) -> None:
        self.txt: list[str] = []
        self._getattr_ = safer_getattr_raise
        self._room = MOST_PRINTED

    def write(self, text: str) -> None:
        """Take the text, as far as there is room."""
        if self._room:
            self.txt.append(text[: self._room])
            self._room -= len(self.txt[-1])


class Restricted(Adapter):
    """One dictionary of names, with RestrictedPython's guards in it, shared by all runs."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {
            "__builtins__": {**safe_builtins, **limited_builtins, **utility_builtins},
            "__metaclass__": type,
            "__name__": "restricted",
            "_getattr_": safer_getattr_raise,
            "_getitem_": default_guarded_getitem,
            "_getiter_": default_guarded_getiter,
            "_inplacevar_": in_place,
            "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
            "_unpack_sequence_": guarded_unpack_sequence,
            "_write_": full_write_guard,
        }

    def run(self, code: str, timeout: float) -> Said:
        """Compile and run `code`; every print in it, in functions too, goes to one collector."""
        printed = Collector()
        self._names["_print_"] = lambda *_: printed
        error: str | None = None
        try:
            with alarm(timeout):
                compiled = compile_restricted_exec(code, "<cell>")
                if compiled.code is None:
                    error = "refused: " + "; ".join(compiled.errors)
                else:
                    exec(compiled.code, self._names)
        except TimeIsOver:
            error = f"stopped after {timeout:g} s"
        except BaseException as raised:  # noqa: BLE001 - code may raise anything, SystemExit too
            error = describe(raised)
        return Said(stdout=printed(), error=error)

    def load_context(self, context: Any) -> None:
        """Bind a copy, so that the code changes nothing of the audit's own."""
        self._names["context"] = copy.deepcopy(context)


def in_place(sign: str, left: Any, right: Any) -> Any:
    """The guard behind `left += right` and its like."""
    return IN_PLACE[sign](left, right)


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise TimeIsOver in this block after `seconds`; outside of the main thread, where signals don't go, never."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimeIsOver

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def describe(raised: BaseException) -> str:
    """The type and the message of an exception, whose own methods may raise as well."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except BaseException:  # noqa: BLE001 - as above
        return "an exception that does not let itself be shown"


def open_session() -> Adapter:
    """A session of RestrictedPython."""
    return Restricted()
