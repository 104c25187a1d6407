"""Untrusted text made harmless: characters with an effect are escaped.

A cell can print characters that move a cursor, rename a window, reorder the line before it or hide words. They may
reach a terminal, a page or a prompt only as visible characters. A message, the evidence of a wall or a log entry must
also be one line: a line break would let foreign text write the next one. Every error and wall status of this library,
and every logger of it (loggers.py), ensures that itself, wherever its text came from.

Guards: that text from a cell cannot control a terminal
"""

from __future__ import annotations

import re
from typing import Final

# C0 except tab, newline and carriage return; DEL; C1; lone surrogates, which cannot be encoded.
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"
# Characters that overwrite or reorder a line, end a line for some programs only, or are invisible. The joiners
# U+200C and U+200D are not among them: scripts and emoji need them.
_DECEIVING: Final = (
    "\r\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

_FOR_PEOPLE: Final = re.compile(f"[{_CONTROLS}{_DECEIVING}]")
_FOR_MODELS: Final = re.compile(f"[{_CONTROLS}]")
_SHORT: Final = {"\a": "\\a", "\b": "\\b", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


def inert(text: str) -> str:
    """Escape `text` for a terminal, a page or a log: printing it has no other effect.

    Tabs and newlines stay. Controls, escapes, bidirectional and invisible characters become \\xNN or \\uNNNN.
    """
    return _FOR_PEOPLE.sub(_spelled, text)


def inert_for_model(text: str) -> str:
    """Escape `text` for a prompt: as inert(), but text in every script stays the same, byte for byte.

    Only controls, escapes and lone surrogates are escaped.
    """
    return _FOR_MODELS.sub(_spelled, text)


def inert_line(text: str) -> str:
    """`text` as inert(), on one line: newlines and tabs become \\n and \\t."""
    return inert(text).replace("\n", "\\n").replace("\t", "\\t")


def excerpt(text: str, limit: int = 200) -> str:
    """The first `limit` characters of `text` on one line, inert, for audit logs and messages."""
    short = inert_line(text[:limit])
    return short if len(short) <= limit and len(text) <= limit else f"{short[: limit - 3]}..."


def _spelled(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if code < 0x100:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
