"""The text of a UnicodeError, from what it says alone.

C reads the byte or character that the error names without a look whether `start` is inside `object`, and whether that
is bytes at all: both are a cell's to choose, and the text shows memory of the worker. `except UnicodeDecodeError` needs
the real classes, so their `__str__` is replaced in place. They are classes of the interpreter, where an assignment does
not do: the C slot gets the function that every class with a `__str__` of Python code has there.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from .registry import namespace_of, order_of

_KINDS: dict[type, tuple[type, tuple[str, ...]]] = {
    UnicodeDecodeError: (bytes, ("encoding", "reason")),
    UnicodeEncodeError: (str, ("encoding", "reason")),
    UnicodeTranslateError: (str, ("reason",)),
}
#: Offset of `tp_str` in a class, in bytes: 17 fields of a pointer's size come before it, in Python 3.11 to 3.13.
_SLOT = 17 * ctypes.sizeof(ctypes.c_void_p)
_modified = ctypes.pythonapi.PyType_Modified
_modified.argtypes, _modified.restype = [ctypes.py_object], None


class _WithText:
    def __str__(self) -> str:
        return ""


class _WithTextToo:
    def __str__(self) -> str:
        return ""


def _slot(kind: type) -> Any:
    return ctypes.c_void_p.from_address(id(kind) + _SLOT)


def keep() -> None:
    """Do it. Twice does no harm. Raises ImportError where this interpreter is laid out otherwise."""
    written = _slot(_WithText).value
    if not written or written != _slot(_WithTextToo).value or _slot(Exception).value != _slot(BaseException).value:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    for kind, (holds, texts) in _KINDS.items():
        if _slot(kind).value != written:
            _replace(kind, holds, texts, written)


def _replace(kind: type, holds: type, texts: tuple[str, ...], written: int) -> None:
    inner: Any = namespace_of(kind)["__str__"]
    start, subject = (namespace_of(kind)[name].__get__ for name in ("start", "object"))
    words = [namespace_of(kind)[name].__get__ for name in texts]

    def __str__(self: Any) -> str:
        try:
            # Plain text: a `__str__` of a cell's would run after this look, and could change the rest.
            sound = start(self) >= 0 and holds in order_of(type(subject(self)))
            sound = sound and all(type(word(self)) is str for word in words)
        except (TypeError, AttributeError):  # never initialised, or no such error at all
            sound = False
        return inner(self) if sound else BaseException.__str__(self)

    __str__.__qualname__ = f"{kind.__name__}.__str__"
    table = gc.get_referents(namespace_of(kind))[0]
    if type(table) is not dict:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    table["__str__"] = __str__
    _slot(kind).value = written
    _modified(kind)
