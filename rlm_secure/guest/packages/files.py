"""What the packages read and write: files of the session by name, file objects of the cell, and memory.

The packages themselves are given memory only. A file is read whole before they see it, and stored when they are done:
no method of a cell's object is called from within them, and no path ever reaches them.

Guards: that a package reads and writes memory, never a path or an object of a cell
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

from ..language import stored
from ..language.facades import binary
from ..language.registry import is_instance, own_instance, title
from ..language.violations import RuleViolation


class Sink(NamedTuple):
    """Where a package writes: `memory`, of which `deliver` takes what is in it when the package is done."""

    memory: Any
    deliver: Callable[[], None]


def name_of(value: Any, who: str) -> str | None:
    """The name of a file that `value` is: a text, or the text of a cell's object that is no file, as a Path.

    None for anything else. Raises RuleViolation where the session has no files.
    """
    if own_instance(value) and not (_method(value, "read") or _method(value, "write")):
        value = str(value)
    if not is_instance(value, str):
        return None
    if not stored.functions:
        raise RuleViolation(
            "file-path", f"{who} takes an io.StringIO or io.BytesIO here: this session has no files, and no paths"
        )
    return str.__str__(value)


def content(value: Any, who: str) -> io.BytesIO | io.StringIO:
    """Memory with what `value` has: a file of the session, a file object, or lines of text.

    Raises FileNotFoundError, ValueError for what cannot be the name of a file, and RuleViolation for anything else.
    """
    held: io.BytesIO | io.StringIO | None = _memory(value)
    if held is not None:
        return held
    if (name := name_of(value, who)) is not None:
        return io.BytesIO(stored.functions["read"](name))
    if own_instance(value) and (read := _method(value, "read")):
        data = read()
        if is_instance(data, str):
            return io.StringIO(str.__str__(data))
        if type(data) is bytes:
            return io.BytesIO(data)
        raise TypeError(f"read() of the {title(type(value))} gave {title(type(data))}; {who} takes text or bytes")
    if type(value) in (list, tuple) and all(type(line) is str for line in value):
        return io.StringIO("\n".join(value))
    raise _refused(value, who)


def sink(value: Any, who: str, *, text: bool, mode: str = "w", encoding: str | None = None) -> Sink:
    """Where a package writes `text` or bytes for `value`, the name of a file or a file object.

    `encoding` says which bytes a text is; None where what is written is no text. `mode` is w, x or a. Raises
    RuleViolation for anything else.
    """
    if (held := _memory(value)) is not None:
        return Sink(held, lambda: None)
    memory: io.BytesIO | io.StringIO = io.StringIO(newline="") if text else io.BytesIO()

    def made() -> bytes:
        data = memory.getvalue()
        return data if isinstance(data, bytes) else data.encode(encoding or "utf-8")

    if (name := name_of(value, who)) is not None:
        return Sink(memory, lambda: _store(name, made(), mode))
    if own_instance(value) and (write := _method(value, "write")):
        how = getattr(value, "mode", None)
        as_bytes = encoding is None or (type(how) is str and "b" in how)
        return Sink(memory, lambda: write(made() if as_bytes else made().decode(encoding or "utf-8")))
    raise _refused(value, who)


def _store(name: str, data: bytes, mode: str) -> None:
    functions = stored.functions
    if mode != "a" or name not in functions["names"]():
        functions["create"](name, mode == "x")
    functions["write"](name, functions["size"](name), data)


def _method(value: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(value, name, None)
    return found if callable(found) else None


def _memory(value: Any) -> Any:
    """The object of the io module behind `value`, or None."""
    kind = type(value)
    if kind is binary.BytesIO:
        return value._bytes
    return value if kind is io.StringIO or kind is io.BytesIO else None


def _refused(value: Any, who: str) -> RuleViolation:
    return RuleViolation(
        "file-path", f"{who} takes the name of a file, or a file object, not a {title(type(value))}; see files.names()"
    )
