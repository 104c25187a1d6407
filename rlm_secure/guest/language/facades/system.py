"""os, os.path and sys, of which cells get what computes on text, tells constants, or writes to their own output."""

from __future__ import annotations

import io
import os
import posixpath
import sys
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NoReturn

from ..registry import is_instance
from . import traces
from .data import functions
from .facade import facade
from .shared import exact_text

# ---- os.path ---------------------------------------------------------------------------------------------------


def _exact_path(path: Any) -> Any:
    """`path` as an exact str or bytes. Raises TypeError."""
    if type(path) in (str, bytes):
        return path
    if is_instance(path, str):
        return str.__str__(path)
    raise TypeError(f"expected str, bytes or os.PathLike object, not {type(path).__name__}; use str(path).")


def abspath(path: Any) -> Any:
    """os.path.abspath, where the current directory is the root: a session has no other."""
    path = _exact_path(path)
    root: Any = "/" if type(path) is str else b"/"
    return posixpath.normpath(posixpath.join(root, path))


def relpath(path: Any, start: Any = None) -> Any:
    """os.path.relpath, where the current directory is the root."""
    path = _exact_path(path)
    return posixpath.relpath(abspath(path), abspath(start or path[:0]))


def _absent(path: Any) -> bool:
    """False: there are no files."""
    if type(path) is not int:
        _exact_path(path)
    return False


def _unchanged(path: Any) -> Any:
    """`path`: nobody has a home directory, and no variables are set."""
    return _exact_path(path)


OS_PATH = facade(
    "os.path",
    posixpath,
    take="altsep curdir defpath devnull extsep pardir pathsep sep supports_unicode_filenames",
    own={
        **functions(
            posixpath,
            "basename commonpath commonprefix dirname isabs join normcase normpath split splitdrive splitext splitroot",
        ),
        "abspath": abspath,
        "expanduser": _unchanged,
        "expandvars": _unchanged,
        "relpath": relpath,
        **dict.fromkeys(("exists", "isdir", "isfile", "islink", "ismount", "lexists"), _absent),
    },
    left_out={
        "getatime getctime getmtime getsize isdevdrive isjunction isreserved realpath samefile sameopenfile samestat "
        "ALLOW_MISSING": "there are no files on a disk; the data is in `context`, or in `files` if there is one",
    },
)

# ---- os --------------------------------------------------------------------------------------------------------

_RANDOM_BYTES = 1 << 20


def urandom(size: int, /) -> bytes:
    """os.urandom, of at most 1 MiB at once. Raises ValueError."""
    if type(size) is not int or not 0 <= size <= _RANDOM_BYTES:
        raise ValueError(f"os.urandom takes a number from 0 to {_RANDOM_BYTES}.")
    return os.urandom(size)


def cpu_count() -> int:
    """1: a session has one processor."""
    return 1


def _environment() -> dict[str, Any]:
    """os.environ of the cell, which is empty until it writes there, and the function that reads it."""
    kept: dict[str, str] = {}

    def getenv(key: str, default: Any = None) -> Any:
        """os.getenv."""
        return kept.get(key, default)

    return {"environ": kept, "getenv": getenv}


_OWN_OF_OS: dict[str, Any] = {
    **_environment(),
    "path": OS_PATH,
    "fspath": _exact_path,
    "fsdecode": lambda path: path.decode() if type(path) is bytes else _exact_path(path),
    "fsencode": lambda path: path if type(path) is bytes else _exact_path(path).encode(),
    "urandom": urandom,
    "cpu_count": cpu_count,
}
_CONSTANTS_OF_OS = "altsep curdir defpath devnull extsep linesep name pardir pathsep sep"
_OF_FILES = (
    "DirEntry PathLike access chdir chmod chown fdopen fwalk getcwd getcwdb link listdir lstat makedirs mkdir open "
    "readlink remove removedirs rename renames replace rmdir scandir stat symlink truncate unlink utime walk"
)
_OF_ENVIRONMENT = "environb getenvb putenv supports_bytes_environ unsetenv"
_DECIDED = {*_OWN_OF_OS, *_CONSTANTS_OF_OS.split(), *_OF_FILES.split(), *_OF_ENVIRONMENT.split()}

OS = facade(
    "os",
    os,
    take=_CONSTANTS_OF_OS,
    own=_OWN_OF_OS,
    left_out={
        _OF_FILES: "there are no files on a disk; the data is in `context`, or in `files` if there is one",
        _OF_ENVIRONMENT: "use os.environ, which is empty until the cell writes to it",
        " ".join(name for name in dir(os) if name not in _DECIDED): "it asks the operating system, which no cell "
        "may; os.path has the functions on names",
    },
)

# ---- sys -------------------------------------------------------------------------------------------------------


class Stream:
    """sys.stdout or sys.stderr of a cell: its own output. It has no state, so that no cell can change it."""

    __slots__ = ()
    encoding, errors, mode, closed, newlines, line_buffering = "utf-8", "strict", "w", False, None, False
    name = ""

    def __init_subclass__(cls, *, name: str = "") -> None:
        if cls.__module__ != __name__:
            raise TypeError("a stream cannot be subclassed; derive from io.StringIO or write a class.")
        cls.name = name

    def write(self, text: str) -> int:
        """Write `text`, as far as there is room."""
        raise NotImplementedError

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: output is not buffered."""

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def reconfigure(self, **_options: object) -> None:
        """Do nothing: it is UTF-8, and never buffered."""

    def fileno(self) -> NoReturn:
        raise io.UnsupportedOperation("fileno")


class _Output(Stream, name="<stdout>"):
    __slots__ = ()

    def write(self, text: str) -> int:
        return sys.stdout.write(text)


class _Errors(Stream, name="<stderr>"):
    __slots__ = ()

    def write(self, text: str) -> int:
        return sys.stderr.write(text)


#: What the outputs stdout and stderr go to instead of where they belong, by these names: objects of a cell with a
#: write(). Only the functions below change it.
redirections: dict[str, Any] = {}


def redirect(name: str, to: Any) -> None:
    """Send the output `name` to the object `to`. Raises ValueError for another name than stdout and stderr."""
    if name not in _STREAMS:
        raise ValueError(f"no output is called {name!r}.")
    if to is None or to is _STREAMS[name]:
        redirections.pop(name, None)
    else:
        redirections[name] = to


def undirect() -> None:
    """Send both outputs where they belong, as for each new cell."""
    redirections.clear()


class Outputs:
    """Sets `sys.stdout` and `sys.stderr`. It never leaves the guards."""

    __slots__ = ()

    def __setattr__(self, name: str, to: Any) -> None:
        redirect(name, to)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"sys.{name} cannot be deleted.")


class Input:
    """sys.stdin of a cell: at its end."""

    __slots__ = ()
    encoding, errors, mode, name, closed = "utf-8", "strict", "r", "<stdin>", False

    def read(self, _size: int = -1, /) -> str:
        return ""

    def readline(self, _size: int = -1, /) -> str:
        return ""

    def readlines(self, _hint: int = -1, /) -> list[str]:
        return []

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return True

    def fileno(self) -> NoReturn:
        raise io.UnsupportedOperation("fileno")

    def __iter__(self) -> Iterator[str]:
        return iter(())


_STREAMS: dict[str, Stream] = {"stdout": _Output(), "stderr": _Errors()}


def _stdout() -> Any:
    return redirections.get("stdout", _STREAMS["stdout"])


def _stderr() -> Any:
    return redirections.get("stderr", _STREAMS["stderr"])


for _kind in (Stream, _Output, _Errors, Input):
    _kind.__module__, _kind.__qualname__ = "io", "TextIOWrapper"


def _record(name: str, found: Any, fields: str) -> Any:
    """A tuple of these fields of `found` with their names, in place of a type that only C can make."""
    words = fields.split()
    values = tuple(getattr(found, word) for word in words)
    shown = f"sys.{name}({', '.join(f'{word}={value!r}' for word, value in zip(words, values, strict=True))})"
    namespace: dict[str, Any] = {word: property(itemgetter(at)) for at, word in enumerate(words)}
    namespace |= {"__slots__": (), "__module__": "builtins", "__repr__": lambda _self: shown}
    return type(name, (tuple,), namespace)(values)


def exit(status: Any = None, /) -> NoReturn:  # noqa: A001 - as it is called
    """End the cell."""
    raise SystemExit(status)


def exc_info() -> tuple[Any, Any, Any]:
    """The class and the exception that is being handled, and what stands for its traceback."""
    error = sys.exc_info()[1]
    return (type(error), error, traces.of(error)) if is_instance(error, Exception) else (None, None, None)


#: A Python function that calls itself needs none of the stack of C, of which a worker has 8 MiB.
_DEEPEST = 10_000
_LONGEST = 100_000
_shallowest = sys.getrecursionlimit()
#: The limits that cells have set.
_limits = {"recursion": _shallowest, "digits": sys.get_int_max_str_digits()}


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return value


def setrecursionlimit(limit: int, /) -> None:
    """Set the limit of cells, between the default and 10,000. It never holds where the worker does its own work."""
    if _whole(limit) <= 0:
        raise ValueError("recursion limit must be greater or equal than 1")
    _limits["recursion"] = limit
    sys.setrecursionlimit(_deepest())


def _deepest() -> int:
    return max(_shallowest, min(_limits["recursion"], _DEEPEST))


def getrecursionlimit() -> int:
    """The limit that the session has set."""
    return _limits["recursion"]


class RecursionOfCells:
    """Holds the limit that cells have set. Not by contextlib, which sets an attribute on what a cell raises."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(_deepest())

    def __exit__(self, *_details: object) -> None:
        sys.setrecursionlimit(self._before)


def set_int_max_str_digits(maxdigits: int) -> None:
    """Set the digits of a number in a text, between the default and 100,000, which take hundredths of a second."""
    if _whole(maxdigits) != 0 and maxdigits < sys.int_info.str_digits_check_threshold:
        raise ValueError(f"maxdigits must be 0 or larger than {sys.int_info.str_digits_check_threshold}")
    default = sys.int_info.default_max_str_digits
    _limits["digits"] = maxdigits
    sys.set_int_max_str_digits(max(default, min(maxdigits or _LONGEST, _LONGEST)))


def get_int_max_str_digits() -> int:
    """The limit that the session has set."""
    return _limits["digits"]


def getsizeof(value: Any, *default: Any) -> int:
    """Bytes that `value` itself takes up."""
    return sys.getsizeof(value, *default)


def intern(text: str, /) -> str:
    """The one str that is equal to `text`."""
    text = exact_text(text)
    if type(text) is not str:
        raise TypeError(f"intern() argument must be str, not {type(text).__name__}")
    return sys.intern(text)


def _utf8() -> str:
    return "utf-8"


_OWN_OF_SYS: dict[str, Any] = {
    "argv": [""],
    "stdin": Input(),
    "exit": exit,
    "exc_info": exc_info,
    "exception": lambda: exc_info()[1],
    "setrecursionlimit": setrecursionlimit,
    "getrecursionlimit": getrecursionlimit,
    "set_int_max_str_digits": set_int_max_str_digits,
    "get_int_max_str_digits": get_int_max_str_digits,
    "getsizeof": getsizeof,
    "intern": intern,
    "getdefaultencoding": _utf8,
    "getfilesystemencoding": _utf8,
    "version_info": _record("version_info", sys.version_info, "major minor micro releaselevel serial"),
    "float_info": _record(
        "float_info", sys.float_info, "max max_exp max_10_exp min min_exp min_10_exp dig mant_dig epsilon radix rounds"
    ),
}
_CONSTANTS_OF_SYS = "byteorder hexversion maxsize maxunicode platform version"
_DECIDED_OF_SYS = {
    *_OWN_OF_SYS, *_CONSTANTS_OF_SYS.split(), "stdout", "stderr", "modules", "path"
}  # fmt: skip

SYS = facade(
    "sys",
    sys,
    take=_CONSTANTS_OF_SYS,
    own=_OWN_OF_SYS,
    later={"stdout": _stdout, "stderr": _stderr},
    left_out={
        "modules path": "modules are the policy's, and nothing can be added; write an import statement",
        " ".join(name for name in dir(sys) if name not in _DECIDED_OF_SYS): "it leads into the interpreter, or is "
        "about its process",
    },
)
