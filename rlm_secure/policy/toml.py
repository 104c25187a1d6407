"""TOML that somebody else wrote: bounded before tomllib sees it, which recurses as deep as a text nests, and takes the
square, in time and in memory, of the parts of a dotted key.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

#: Brackets within brackets, those of a header included; and dots of one key.
MOST_BRACKETS: Final = 32
MOST_DOTS: Final = 16

# What says something about depth, and the strings and comments that do not. A string without an end goes on to the end
# of its line, or of the text: tomllib stops there too. No part of it can fail behind a repetition, so that nothing is
# gone through twice.
_TOKEN: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']|'(?!''))*(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*"
    r"|[\[\]{}.,=\n]",
    re.DOTALL,
)


class TooDeep(ValueError):
    """A TOML text nests deeper than this package reads, or has a key of more parts. `at` is the index of the place."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


def loads(text: str) -> dict[str, Any]:
    """The value of a TOML text. Raises TooDeep; else as tomllib does: TOMLDecodeError, and ValueError for a number or
    a date that cannot be."""
    depth = dots = 0
    for match in _TOKEN.finditer(text):
        match match[0]:
            case "[" | "{":
                depth, dots = depth + 1, 0
            case "]" | "}":
                depth, dots = depth - 1, 0
            case ".":
                dots += 1
            case "," | "=" | "\n":
                dots = 0
        if depth > MOST_BRACKETS:
            raise TooDeep(f"brackets within brackets, more than {MOST_BRACKETS}", match.start())
        if dots > MOST_DOTS:
            raise TooDeep(f"a key of more than {MOST_DOTS + 1} parts", match.start())
    return tomllib.loads(text)
