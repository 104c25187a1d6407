"""Replaces `__str__` of UnicodeError classes, which reads out of bounds, by one that checks first.

C reads the byte or character that the error names without checking that `start` is inside `object`, or that `object`
has the right type. A cell can choose both, so that the text would show memory of the worker. `except
UnicodeDecodeError` needs the real classes, so their `__str__` is replaced in place. Built-in classes do not allow an
assignment: so the C slot is set to the function that every class with a `__str__` in Python has there.
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
    """Replace them. Idempotent. Raises ImportError if this interpreter has another memory layout."""
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
            # Exact text: a `__str__` of a cell would run after this check, and could change the other values.
            sound = start(self) >= 0 and holds in order_of(type(subject(self)))
            sound = sound and all(type(word(self)) is str for word in words)
        except (TypeError, AttributeError):  # not initialised, or not an error of this class
            sound = False
        return inner(self) if sound else BaseException.__str__(self)

    __str__.__qualname__ = f"{kind.__name__}.__str__"
    table = gc.get_referents(namespace_of(kind))[0]
    if type(table) is not dict:
        raise ImportError("the classes of this Python are laid out otherwise; use CPython 3.11 to 3.13.")
    table["__str__"] = __str__
    _slot(kind).value = written
    _modified(kind)
