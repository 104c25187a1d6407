"""traceback: an exception as text, with the cell's own lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "FrameSummary", "extract_tb", "format_exc", "format_exception", "format_exception_only", "format_list", "format_tb",
    "print_exc", "print_exception", "print_tb",
]  # fmt: skip
LEFT_OUT = {
    "StackSummary TracebackException walk_stack walk_tb extract_stack print_list clear_frames format_stack "
    "print_stack print_last": "a frame leads to everything; use traceback.format_exc()",
}

# Bound by the loader.
frames_in: Callable[[Any], list[tuple[int, str]] | None]
frames_of: Callable[[Any], list[tuple[int, str]]]
origin_of: Callable[[Any], tuple[Any, bool]]

_ABOVE = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING = "\nDuring handling of the above exception, another exception occurred:\n\n"
_LINKS = 16
_MODULES = ("json", "decimal", "csv", "_csv", "zlib", "binascii", "struct", "re", "statistics", "queue", "zoneinfo")


def _exception(value: Any, found: Any = None) -> Any:
    error = value if isinstance(value, Exception) else found
    if not isinstance(error, Exception):
        raise TypeError(f"Exception expected for value, {type(error).__name__} found")
    return error


def format_exception_only(exc: Any, /, value: Any = None, **options: Any) -> list[str]:
    error = _exception(exc, value)
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__.partition(".")[0] in _MODULES:
        name = f"{kind.__module__}.{name}"
    try:
        text = str(error)
    except Exception:
        text = "<exception str() failed>"
    return [f"{name}: {text}\n" if text else f"{name}\n", *[f"{each}\n" for each in _notes(error)]]


def _notes(error: Any) -> list[str]:
    found = getattr(error, "__notes__", None) if hasattr(error, "__notes__") else None
    return [str(each) for each in found] if isinstance(found, list | tuple) else []


class FrameSummary(NamedTuple):
    filename: str
    lineno: int
    name: str
    line: str


def _limited(found: list[tuple[int, str]], limit: int | None) -> list[FrameSummary]:
    if limit is not None:
        found = found[:limit] if limit >= 0 else found[limit:]
    return [FrameSummary("<cell>", line, name, "") for line, name in found]


def format_list(extracted_list: Any) -> list[str]:
    shown = [(filename, line, name, text) for filename, line, name, text in extracted_list]
    return [
        f'  File "{filename}", line {line}, in {name}\n' + (f"    {text.strip()}\n" if text else "")
        for filename, line, name, text in shown
    ]


def extract_tb(tb: Any, limit: int | None = None) -> list[FrameSummary]:
    found = frames_in(tb)
    return [] if found is None else _limited(found, limit)


def format_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: int | None = None, chain: bool = True, **options: Any
) -> list[str]:
    error: Any = _exception(exc, value)
    links: list[Any] = []
    seen: list[Any] = []
    while error is not None and len(links) < _LINKS and not any(each is error for each in seen):
        seen.append(error)
        origin, direct = origin_of(error) if chain else (None, False)
        links.append((error, direct))
        error = origin
    lines: list[str] = []
    for at in range(len(links) - 1, -1, -1):
        error, direct = links[at]
        if at < len(links) - 1:
            lines.append(_ABOVE if direct else _DURING)
        frames = format_list(_limited(frames_of(error), limit))
        if frames:
            lines += ["Traceback (most recent call last):\n", *frames]
        lines += format_exception_only(error)
    return lines


def format_exc(limit: int | None = None, chain: bool = True) -> str:
    error = sys.exc_info()[1]
    return "NoneType: None\n" if error is None else "".join(format_exception(error, limit=limit, chain=chain))


def format_tb(tb: Any, limit: int | None = None) -> list[str]:
    return format_list(extract_tb(tb, limit))


def print_exc(limit: int | None = None, file: Any = None, chain: bool = True) -> None:
    print(format_exc(limit, chain), file=sys.stderr if file is None else file, end="")


def print_exception(
    exc: Any, /, value: Any = None, tb: Any = None, limit: int | None = None, file: Any = None, chain: bool = True
) -> None:
    text = "".join(format_exception(exc, value, tb, limit, chain))
    print(text, file=sys.stderr if file is None else file, end="")


def print_tb(tb: Any, limit: int | None = None, file: Any = None) -> None:
    print("".join(format_tb(tb, limit)), file=sys.stderr if file is None else file, end="")
