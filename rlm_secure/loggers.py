"""The loggers of this library: each record is one inert line, wherever its text came from (inert.py).

The lines of a traceback follow it, inert as well, and each with a margin: none looks like a record.

Guards: that text from a cell cannot write lines of a log
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from rlm_secure.inert import inert_line

#: The names of all loggers of this library.
LOGGERS: Final = (
    "rlm_secure", "rlm_secure.audit", "rlm_secure.broker", "rlm_secure.cloud", "rlm_secure.docker", "rlm_secure.rlm",
    "rlm_secure.session",
)  # fmt: skip


def logger(name: str) -> logging.Logger:
    """The logger called `name`, which is one of LOGGERS: another one would not have the filter below."""
    if name not in LOGGERS:
        raise ValueError(f"{name[:80]!r} is not a logger of this library; name it in LOGGERS first")
    return logging.getLogger(name)


_FORMATTER: Final = logging.Formatter()


class _OneLine(logging.Filter):
    """Makes each record one inert line: its message, the texts and errors among its arguments; and its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record; never drop it."""
        record.msg = _shown(record.msg)
        if isinstance(record.args, Mapping):
            record.args = {name: _shown(each) for name, each in record.args.items()}
        else:
            record.args = tuple(_shown(each) for each in record.args or ())
        if record.exc_info:
            lines = _FORMATTER.formatException(record.exc_info).split("\n")
            record.exc_text = "\n".join(f"  {inert_line(line)}" for line in lines)  # formatters take it from here
        return True


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return inert_line(value)
    if not isinstance(value, BaseException):
        return value
    try:
        return inert_line(str(value))
    except Exception:  # noqa: BLE001 - its __str__ is foreign code
        return type(value).__name__


for _name in LOGGERS:
    logging.getLogger(_name).addFilter(_OneLine())
