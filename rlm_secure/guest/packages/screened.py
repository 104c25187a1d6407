"""Functions and methods of the packages that act on text: each checks it before the package sees it.

A path becomes refused text: only file objects of memory are read and written.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from ..language.facades import binary
from ..language.registry import title
from ..language.violations import RuleViolation

FORMATS = frozenset({"png", "svg", "jpg", "jpeg", "webp", "tif", "tiff"})
#: Keywords that name code, another program or a service.
_CLOSED_OPTIONS = frozenset({"engine_kwargs", "storage_options", "backend", "filesystem", "dtype_backend", "usetex"})


def stream(value: Any, who: str) -> Any:
    """`value` as a file object of memory. Raises RuleViolation for anything else."""
    kind = type(value)
    if kind is binary.BytesIO:
        return value._bytes
    if kind is io.StringIO or kind is io.BytesIO:
        return value
    raise RuleViolation(
        "file-path", f"{who} takes an io.StringIO or io.BytesIO here, not a {title(kind)}: there are no paths"
    )


def reader(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """`function`, whose first argument is what it reads."""

    def read(source: Any = None, /, *values: Any, **options: Any) -> Any:
        for name in ("filepath_or_buffer", "path_or_buf"):
            source = options.pop(name, source)
        _options(options, who)
        return function(stream(source, who), *values, **options)

    return _named(read, who)


def writer(function: Callable[..., Any], who: str, names: tuple[str, ...], *, text: bool = True) -> Callable[..., Any]:
    """`function`, whose first argument is where it writes: a file object, or None where it returns text."""

    def write(*values: Any, **options: Any) -> Any:
        _options(options, who)
        given = [*values]
        for name in names:
            if name in options:
                given.insert(0, options.pop(name))
        if given and not (text and given[0] is None):
            given[0] = stream(given[0], who)
        elif not text and not given:
            raise TypeError(f"{who} takes a file object.")
        return function(*given, **options)

    return _named(write, who)


def drawing(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """savefig: to a file object, in a format that is made here. Others start a program, or need files."""

    def save(*values: Any, **options: Any) -> Any:
        made = options.get("format")
        if made is not None and (type(made) is not str or made.lower() not in FORMATS):
            raise RuleViolation("figure-format", f"{who} makes {', '.join(sorted(FORMATS))} here")
        return writer(function, who, ("fname",), text=False)(*values, **options)

    return _named(save, who)


def raw(function: Callable[..., Any], array: Any, who: str) -> Callable[..., Any]:
    """`tobytes` of `array`, unless its bytes are addresses of objects."""

    def tobytes(order: Any = "C") -> Any:
        if array.dtype.hasobject:
            raise RuleViolation("object-array", f"{who} takes arrays of numbers; use tolist()")
        return function(order)

    return _named(tobytes, who)


def optional(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """`function`, without the keywords that lead elsewhere."""

    def call(*values: Any, **options: Any) -> Any:
        _options(options, who)
        return function(*values, **options)

    return _named(call, who)


def display_only(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """pandas' functions on options, for those on how things are shown. Others import modules by name."""

    def call(*values: Any, **options: Any) -> Any:
        for each in values[::2]:
            if type(each) is not str or not each.startswith("display.") or "|" in each:
                raise RuleViolation("package-option", f"{who} takes options that begin with 'display.' here")
        if options:
            raise RuleViolation("package-option", f"{who} takes no keywords here")
        return function(*values)

    return _named(call, who)


def _options(options: dict[str, Any], who: str) -> None:
    for name in options:
        if name in _CLOSED_OPTIONS:
            raise RuleViolation("package-option", f"{who} takes no {name} here; leave it out")


def _named(function: Any, who: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = who.rpartition(".")[2]
    return function  # type: ignore[no-any-return]
