"""Read files for an audit: limited in size, UTF-8, and with the names that a report shows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rlm_secure import files
from rlm_secure.audit.finding import Unreadable
from rlm_secure.inert import inert_line

#: No rule needs larger files, except trajectories, which have a limit of their own.
MAX_BYTES = 4 * 1024 * 1024

T = TypeVar("T")


def shown(path: Path) -> str:
    """A path for a report, on one line: relative to the working directory if it is below it.

    No two paths are shown alike: backslashes are doubled, to distinguish them from escapes.
    """
    try:
        name = Path(os.path.realpath(path)).relative_to(Path.cwd()).as_posix()
    except ValueError:
        name = path.as_posix()
    return inert_line(name.replace("\\", "\\\\"))


def text(path: Path, *, limit: int = MAX_BYTES, below: Path | None = None) -> str:
    """The text of a file. If it was found in the folder `below`, no link is followed.

    Raises Unreadable, which says what to do.
    """
    data = _of(path, below, lambda name: files.read(name, limit, below=below))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable("it is not UTF-8 text; convert it", line) from None


def head(path: Path, size: int, *, below: Path | None = None) -> str:
    """The first `size` bytes of a file as text; invalid UTF-8 is replaced. Raises Unreadable."""
    return _of(path, below, lambda name: _beginning(name, size, below)).decode("utf-8", "replace")


def _beginning(path: Path, size: int, below: Path | None) -> bytes:
    descriptor = files.open_file(path, below=below)
    try:
        return b"".join(files.chunks(descriptor, size))
    finally:
        os.close(descriptor)


def _of(path: Path, below: Path | None, do: Callable[[Path], T]) -> T:
    try:
        return do(path if below is None else path.relative_to(below))
    except files.TooLarge as error:
        raise Unreadable(f"{error.strerror}; name the file that is meant") from None
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}; check the path and its permissions") from None
