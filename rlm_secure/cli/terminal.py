"""What the commands say, and where: the report on stdout, everything else on stderr.

Text that a model or a cell wrote reaches a terminal only through `inert`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from rich.console import Console
from rich.text import Text

#: Exit codes of every command. All others are reserved.
OK: Final = 0
FAILED: Final = 1
COULD_NOT_RUN: Final = 2
INTERRUPTED: Final = 130

_PIPED_WIDTH = 160
_SPOKEN = {0x07: "\\a", 0x08: "\\b", 0x0B: "\\v", 0x0C: "\\f", 0x0D: "\\r"}


def _visible(code: int) -> str:
    return _SPOKEN.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


# ESC and the C1 controls start escape sequences; a lone surrogate has no UTF-8.
_ALWAYS = {code: _visible(code) for code in (0x1B, *range(0x80, 0xA0), *range(0xD800, 0xE000))}
# On a terminal also everything that moves the cursor, rings, or reorders what was printed before.
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ON_TERMINAL = _ALWAYS | {
    code: _visible(code)
    for code in (*range(0x20), 0x7F, 0x2028, 0x2029, *_DIRECTIONS)
    if code not in (0x09, 0x0A)
}


def inert(text: str, *, terminal: bool = True) -> str:
    """`text` with its control characters spelled out, so that printing it does nothing but print.

    With `terminal` false (a pipe or a file) carriage returns and the like stay as they are; escape sequences
    never do.
    """
    return text.translate(_ON_TERMINAL if terminal else _ALWAYS)


def write(text: str, stream: TextIO) -> None:
    """Write untrusted text to a stream, inert."""
    stream.write(inert(text, terminal=stream.isatty()))
    stream.flush()


def write_json(value: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout, in ASCII: no byte of it can drive a terminal."""
    print(json.dumps(value, indent=2, ensure_ascii=True, default=str))


def report() -> Console:
    """The console of stdout. Colours and wrapping only on a terminal; NO_COLOR is honoured."""
    return _console(sys.stdout)


def talk() -> Console:
    """The console of stderr."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, soft_wrap=not stream.isatty())


def say(message: str, *, style: str = "") -> None:
    """One line of talk on stderr, inert."""
    talk().print(Text(inert(message), style=style))
