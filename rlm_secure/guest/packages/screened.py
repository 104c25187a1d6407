"""Functions and methods of the packages that act on text: each checks it before the package sees it.

What they read and write is memory (files.py); a name is one of the session's files, never a path.

Guards: that no text of a cell names a path, a program, a module or code to a package
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..language.registry import title
from ..language.violations import RuleViolation
from . import files

FORMATS = frozenset({"png", "svg", "jpg", "jpeg", "webp", "tif", "tiff"})
_IMAGE_OPTIONS = frozenset({"quality", "optimize", "progressive", "compress_level", "dpi"})
#: Keywords that name code, another program or a service.
_CLOSED_OPTIONS = frozenset({"engine_kwargs", "storage_options", "backend", "filesystem", "dtype_backend", "usetex"})


#: How a file is compressed whose name ends so.
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz"}


def reader(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """`function`, whose first argument is what it reads."""

    def read(source: Any = None, /, *values: Any, **options: Any) -> Any:
        for name in ("filepath_or_buffer", "path_or_buf", "fname", "file"):
            source = options.pop(name, source)
        _options(options, who)
        if who.startswith("pandas."):
            _compression(source, options, who)
        return function(files.content(source, who), *values, **options)

    return _named(read, who)


def writer(function: Callable[..., Any], who: str, name: str, kind: str) -> Callable[..., Any]:
    """`function`, whose first argument, also called `name`, is where it writes.

    `kind` is "text", "bytes", or "either" for one that encodes its text itself; the last returns a text if it is given
    no place, and so does the first.
    """

    def write(*values: Any, **options: Any) -> Any:
        _options(options, who)
        place, *rest = values or (options.pop(name, None),)
        if place is None and kind != "bytes":
            return function(None, *rest, **options)
        encoding = None
        if kind != "bytes":
            encoding = (options.pop if kind == "text" else options.get)("encoding", None) or "utf-8"
            if type(encoding) is not str:
                raise TypeError(f"{who} takes encoding as text, not {title(type(encoding))}")
        mode = options.get("mode", "w")
        if "mode" in options and (type(mode) is not str or mode not in ("w", "x", "a")):
            raise ValueError(f"{who} takes the mode w, x or a")
        if kind == "either":
            _compression(place, options, who)
        sink = files.sink(place, who, text=kind == "text", mode=mode, encoding=encoding)
        made = function(sink.memory, *rest, **options)
        sink.deliver()
        return made

    return _named(write, who)


def informing(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """info(), which prints where no place is given."""

    def info(verbose: Any = None, *, buf: Any = None, **options: Any) -> None:
        if buf is None:
            function(verbose, **options)
            return
        sink = files.sink(buf, who, text=True, encoding="utf-8")
        function(verbose, buf=sink.memory, **options)
        sink.deliver()

    return _named(info, who)


def _compression(place: Any, options: dict[str, Any], who: str) -> None:
    """Set `compression` by the end of a file's name, which pandas does not see."""
    given = options.get("compression", "infer")
    if given is not None and type(given) is not str:
        raise RuleViolation("package-option", f"{who} takes compression as text here, such as 'gzip'")
    if given == "infer":
        name = files.name_of(place, who) or ""
        options["compression"] = next((how for end, how in _COMPRESSED.items() if name.endswith(end)), None)


def drawing(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """savefig: to a file, in a format that is made here. Others start a program, or need files."""
    write = writer(function, who, "fname", "bytes")

    def save(*values: Any, **options: Any) -> Any:
        extra = options.get("pil_kwargs")
        if extra is not None and (type(extra) is not dict or not all(name in _IMAGE_OPTIONS for name in extra)):
            raise RuleViolation("package-option", f"{who} takes pil_kwargs of {', '.join(sorted(_IMAGE_OPTIONS))} here")
        made = options.get("format")
        if made is None:
            place = values[0] if values else options.get("fname")
            _, dot, made = (files.name_of(place, who) or "").rpartition(".")
            made = options["format"] = made if dot else "png"
        if type(made) is not str or made.lower() not in FORMATS:
            raise RuleViolation("figure-format", f"{who} makes {', '.join(sorted(FORMATS))} here")
        return write(*values, **options)

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
        if who == "pandas.reset_option" and values == ("all",):
            return function("^display[.]")
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
