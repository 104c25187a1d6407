"""Reads files for an audit: bounded in size, UTF-8, and named the way that a report shows them."""

from __future__ import annotations

from pathlib import Path

from rlm_secure.audit.finding import Unreadable

#: Larger files are not what any rule is about; trajectories are read by line and may be larger.
MAX_BYTES = 4 * 1024 * 1024


def shown(path: Path) -> str:
    """A path for a report: relative to the working directory where it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The text of a file. Raises Unreadable, which names what to do."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}; check the path and its permissions") from None
    if len(data) > limit:
        raise Unreadable(f"it is larger than {limit:,} bytes; name the file that is meant")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable("it is not UTF-8 text; convert it", line) from None
