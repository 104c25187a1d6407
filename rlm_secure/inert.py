"""Untrusted text made harmless: what would act instead of being read is spelled out.

A cell can print what moves a cursor, renames a window, reorders the line before it or hides words from the
eye. None of that may reach a terminal, a page or a prompt as anything but visible characters. A message, the evidence
of a wall or a line of a log is one line as well: its end would let foreign text write the next one. Every error and
wall of this library, and every logger named here, sees to that by itself, wherever their text came from.

Guards: that text from a cell drives no terminal
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

#: The loggers of this library.
LOGGERS: Final = ("rlm_secure", "rlm_secure.audit", "rlm_secure.broker", "rlm_secure.cloud", "rlm_secure.docker")

# C0 but tab, newline and carriage return; DEL; C1; lone surrogates, which no encoder takes.
_CONTROLS: Final = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff"
# What overwrites or reorders a line, ends a line for some programs only, or shows nothing at all. The joiners
# U+200C and U+200D are not among them: scripts and emoji need them.
_DECEIVING: Final = (
    "\r\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

_FOR_PEOPLE: Final = re.compile(f"[{_CONTROLS}{_DECEIVING}]")
_FOR_MODELS: Final = re.compile(f"[{_CONTROLS}]")
_SHORT: Final = {"\a": "\\a", "\b": "\\b", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


def inert(text: str) -> str:
    """`text` for a terminal, a page or a log: printing it does nothing but print.

    Tabs and newlines stay. Controls, escapes, bidirectional and invisible characters become \\xNN or \\uNNNN.
    """
    return _FOR_PEOPLE.sub(_spelled, text)


def inert_for_model(text: str) -> str:
    """`text` for a prompt: as inert(), but text in every script stays byte for byte what it was.

    Only controls, escapes and lone surrogates are spelled out.
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


class _OneLine(logging.Filter):
    """Makes what is logged one inert line: its message, and the texts and errors that are put into it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; every one passes."""
        record.msg = _shown(record.msg)
        if isinstance(record.args, Mapping):
            record.args = {name: _shown(each) for name, each in record.args.items()}
        else:
            record.args = tuple(_shown(each) for each in record.args or ())
        return True


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return inert_line(value)
    if not isinstance(value, BaseException):
        return value
    try:
        return inert_line(str(value))
    except Exception:  # noqa: BLE001 - its __str__ is somebody else's
        return type(value).__name__


for _name in LOGGERS:
    logging.getLogger(_name).addFilter(_OneLine())
