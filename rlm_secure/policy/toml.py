"""Parses untrusted TOML, after checking its nesting: tomllib recurses as deep as a text nests, and takes quadratic time
and memory in the parts of a dotted key.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

#: Most nested brackets, those of a header included; and most dots in one key.
MOST_BRACKETS: Final = 32
MOST_DOTS: Final = 16
#: Most bytes of a policy's file.
MOST_BYTES: Final = 256 * 1024

# Tokens that change the depth, and strings and comments, which do not. An unterminated string extends to the end of its
# line, or of the text, where tomllib stops too. Nothing after a repetition can fail, so no text is scanned twice.
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
    """A TOML text is nested too deeply, or has a key with too many parts. `at` is the index of the place."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


def loads(text: str) -> dict[str, Any]:
    """Parse a TOML text. Raises TooDeep, or as tomllib does: TOMLDecodeError, and ValueError for an impossible number
    or date."""
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
