"""warnings: into the cell's stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

__all__ = [
    "WarningMessage", "catch_warnings", "deprecated", "filterwarnings", "formatwarning", "resetwarnings",
    "showwarning", "simplefilter", "warn", "warn_explicit",
]  # fmt: skip
LEFT_OUT = {
    "defaultaction filters onceregistry": "a mutable object of the module; use simplefilter and filterwarnings",
    "sys": "a module",
}

# Bound by the loader.
caller: Callable[[int], tuple[int, str]]

_ACTIONS = ("default", "error", "ignore", "always", "all", "module", "once")
_FILE = "Cell"

#: Each is (action, pattern of the message, category, pattern of the module, line).
_STANDARD: list[tuple[Any, ...]] = [
    ("ignore", None, PendingDeprecationWarning, None, 0),
    ("ignore", None, ImportWarning, None, 0),
    ("ignore", None, ResourceWarning, None, 0),
]
_filters = list(_STANDARD)
_seen: set[Any] = set()
_recording: list[Any] = []


class WarningMessage:
    def __init__(
        self, message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None,
        source: Any = None,
    ) -> None:  # fmt: skip
        self.message, self.category, self.filename, self.lineno = message, category, filename, lineno
        self.file, self.line, self.source = file, line, source

    def __str__(self) -> str:
        return (
            f"{{message : {self.message!r}, category : {self.category.__name__!r}, filename : {self.filename!r}, "
            f"lineno : {self.lineno}, line : {self.line!r}}}"
        )


def formatwarning(message: Any, category: Any, filename: str, lineno: int, line: Any = None) -> str:
    return f"{filename}:{lineno}: {category.__name__}: {message}\n" + (f"  {line.strip()}\n" if line else "")


def showwarning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    (sys.stderr if file is None else file).write(formatwarning(message, category, filename, lineno, line))


def _is_warning(category: Any) -> bool:
    return isinstance(category, type) and issubclass(category, Warning)


def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **others: Any) -> None:
    category = type(message) if isinstance(message, Warning) else UserWarning if category is None else category
    if not _is_warning(category):
        raise TypeError(f"category must be a Warning subclass, not {category!r}")
    warn_explicit(message, category, _FILE, caller(stacklevel)[0])


def warn_explicit(
    message: Any, category: Any, filename: str, lineno: int, module: str | None = None, registry: Any = None,
    module_globals: Any = None, source: Any = None,
) -> None:  # fmt: skip
    text = str(message)
    if not isinstance(message, Warning):
        message = category(message)
    action = "default"
    for act, pattern, kind, inside, line in _filters:
        if (
            (pattern is None or pattern.match(text))
            and issubclass(category, kind)
            and (inside is None or inside.match(module or "__main__"))
            and line in (0, lineno)
        ):
            action = act
            break
    if action == "ignore":
        return
    if action == "error":
        raise message
    if action not in ("always", "all"):
        key = (text, category) if action in ("module", "once") else (text, category, lineno)
        if key in _seen:
            return
        _seen.add(key)
    if _recording:
        _recording[-1].append(WarningMessage(message, category, filename, lineno, source=source))
    else:
        showwarning(message, category, filename, lineno)


def _add(entry: tuple[Any, ...], append: bool) -> None:
    _seen.clear()
    if append:
        _filters.append(entry)
    else:
        _filters.insert(0, entry)


def simplefilter(action: str, category: Any = Warning, lineno: int = 0, append: bool = False) -> None:
    _checked(action, category)
    _add((action, None, category, None, lineno), append)


def filterwarnings(
    action: str, message: str = "", category: Any = Warning, module: str = "", lineno: int = 0, append: bool = False
) -> None:
    _checked(action, category)
    pattern = re.compile(message, re.I) if message else None
    _add((action, pattern, category, re.compile(module) if module else None, lineno), append)


def _checked(action: str, category: Any) -> None:
    if action not in _ACTIONS:
        raise ValueError(f"invalid action: {action!r}")
    if not _is_warning(category):
        raise TypeError("category must be a Warning subclass")


def resetwarnings() -> None:
    _seen.clear()
    _filters.clear()


class catch_warnings:
    def __init__(
        self, *, record: bool = False, module: Any = None, action: str | None = None, category: Any = Warning,
        lineno: int = 0, append: bool = False,
    ) -> None:  # fmt: skip
        self._record = record
        self._filter = None if action is None else (action, category, lineno, append)

    def __enter__(self) -> Any:
        self._kept = list(_filters)
        _seen.clear()
        if self._filter is not None:
            simplefilter(*self._filter)
        if not self._record:
            return None
        log: list[Any] = []
        _recording.append(log)
        return log

    def __exit__(self, *details: object) -> None:
        _filters[:] = self._kept
        _seen.clear()
        if self._record:
            _recording.pop()


def deprecated(message: str, /, *, category: Any = DeprecationWarning, stacklevel: int = 1) -> Any:
    def decorate(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if category is not None:
                warn(message, category, stacklevel + 1)
            return function(*args, **kwargs)

        return function if isinstance(function, type) else call

    return decorate
