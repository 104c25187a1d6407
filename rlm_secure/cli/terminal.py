"""Output of the commands: the report on stdout, everything else on stderr.

Text that a model or a cell wrote is written to a terminal only through `inert`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from rlm_secure.inert import inert as for_people

if TYPE_CHECKING:  # a command that prints plain text alone imports nothing of rich
    from rich.console import Console
    from rich.table import Table

#: Exit codes of every command. All others are reserved.
OK: Final = 0
FAILED: Final = 1
COULD_NOT_RUN: Final = 2
INTERRUPTED: Final = 130

_PIPED_WIDTH = 160
# ESC and the C1 controls start escape sequences; a lone surrogate has no UTF-8.
_IN_A_PIPE = {code: f"\\x{code:02x}" for code in (0x1B, *range(0x80, 0xA0))} | {
    code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)
}


def inert(text: str, *, terminal: bool = True) -> str:
    """`text` with its control characters escaped, so that printing it cannot control the terminal.

    With `terminal` false (a pipe or a file) carriage returns and the like stay as they are; escape sequences
    never do.
    """
    return for_people(text) if terminal else text.translate(_IN_A_PIPE)


def write(text: str, stream: TextIO) -> None:
    """Write untrusted text to a stream, escaped."""
    stream.write(inert(text, terminal=stream.isatty()))
    stream.flush()


def write_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout, in ASCII, so that no byte of it can control a terminal."""
    print(json.dumps(value, indent=2, ensure_ascii=True, default=str))


def report() -> Console:
    """The console of stdout. Colours and wrapping only on a terminal; NO_COLOR is respected."""
    return _console(sys.stdout)


def talk() -> Console:
    """The console of stderr."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, soft_wrap=not stream.isatty())


def show_table(table: Table) -> None:
    """Print a table on stdout; in a pipe without trailing blanks."""
    from rich.text import Text

    console = report()
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()))


def say(message: str, *, style: str = "") -> None:
    """Print one message on stderr, escaped."""
    from rich.text import Text

    talk().print(Text(inert(message), style=style))
