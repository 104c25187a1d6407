"""The command line: each command parses, calls the library, prints, and returns an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, TypeAlias

from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, INTERRUPTED, say

#: Seconds after which an interrupt that was lost is raised again.
_AGAIN: Final = 0.1

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None

#: Each command, and its module, in the order of the help.
_COMMANDS: Final = {
    "run": "run",
    "react": "react",
    "ask": "ask",
    "exec": "exec_",
    "demo": "demo",
    "doctor": "doctor",
    "audit": "audit",
    "explain": "explain",
    "policy": "policy",
    "sandbox": "sandbox",
    "arena": "arena",
    "log": "log",
}

DETAILS = """\
examples:
  rlm-secure demo
  rlm-secure doctor
  rlm-secure audit
  rlm-secure exec -c 'print(1 + 1)'
  rlm-secure run "Which line is the root cause?" --context app.log --model gpt-5-mini

`rlm-secure COMMAND --help` has each command's options, examples and exit codes.
NO_COLOR=1 switches colours off; so does a pipe."""


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line, or of `command` alone, with no module of another one."""
    whole = options.Parser(
        prog="rlm-secure",
        usage="rlm-secure COMMAND [options]",
        description="Recursive language models, and any other untrusted Python, behind walls.",
        epilog=DETAILS,
        formatter_class=options.Help,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="store_true", help="print the version and exit")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND")
    for name, module in _COMMANDS.items():
        if command in (None, name):
            importlib.import_module(f"rlm_secure.cli.{module}").add(commands)
    return whole


def _open_closed_streams() -> None:
    """Replace each closed standard stream with /dev/null, in this process and its children."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - open until the process exits
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command with `arguments` (those of the process by default). Returns its exit code."""
    _open_closed_streams()
    given = sys.argv[1:] if arguments is None else arguments
    whole = parser(given[0] if given and given[0] in _COMMANDS else None)
    parsed = whole.parse_args(arguments)
    if parsed.version:
        from importlib.metadata import version

        print(f"rlm-secure {version('rlm-secure')}")
        return 0
    if "command" not in parsed:
        whole.print_help(sys.stderr)
        return COULD_NOT_RUN
    from rlm_secure.errors import CancellationError, RLMSecureError

    ending, unraisable = _Ending(), sys.unraisablehook
    try:
        code: int = parsed.command(parsed)
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, CancellationError):
        return ending.interrupted()
    except BrokenPipeError:
        # The reader has closed the pipe. Otherwise Python would fail again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_RUN
    except (RLMSecureError, ValueError) as error:
        say(f"{parsed.prog}: error: {error}", style="red")
        return COULD_NOT_RUN
    except Exception as error:  # as Python 3.11 makes one of an interrupt in a `__set_name__`, which every Enum has
        if not _interrupted(error, "__cause__"):
            raise  # also what failed while an interrupt was handled: it was not raised from that
        return ending.interrupted()
    finally:
        ending.restore()
        sys.unraisablehook = unraisable


def _unwinding() -> bool:
    """Whether an interrupt, or what it became, is being handled: what runs now is a `finally` or an `__exit__`."""
    return _interrupted(sys.exc_info()[1], "__context__")


def _interrupted(error: BaseException | None, link: str) -> bool:
    """Whether `error` is an interrupt, or one is behind it by that attribute."""
    from rlm_secure.errors import CancellationError

    while error is not None and not isinstance(error, KeyboardInterrupt | CancellationError):
        error = getattr(error, link)
    return error is not None


class _Ending:
    """SIGINT and SIGTERM unwind the stack while a command runs, so that every session is closed. Main thread only.

    `code` is the exit code that belongs to the signal that came. Python drops an exception that is raised in a
    finalizer, and libraries drop some: one that has left no trace after a while is raised again.
    """

    def __init__(self) -> None:
        self.code = INTERRUPTED
        self._previous: dict[signal.Signals, Handler] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it, or a shell's &
                    self._previous[number] = signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _: object) -> None:
        self.code = 128 + number
        if hasattr(signal, "setitimer"):  # not on Windows
            self._previous.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self._again))
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        raise KeyboardInterrupt

    def _again(self, *_: object) -> None:
        if not _unwinding():
            raise KeyboardInterrupt

    def interrupted(self) -> int:
        """Say so, when all is unwound. Returns the exit code."""
        self.restore()  # before the next signal: there is nothing left to unwind
        sys.unraisablehook = lambda _: None  # an object whose creation was interrupted may fail when it is freed
        say("interrupted")
        return self.code

    def restore(self) -> None:
        """Give the signals back to who had them before. Idempotent."""
        if hasattr(signal, "setitimer") and signal.SIGALRM in self._previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
        while self._previous:
            signal.signal(*self._previous.popitem())
