"""The files of a session: bytes by name, in memory. None of them is a path on any disk, and no system call is made.

The object `files` of cells (language/library/files.py) is Python of a cell and calls `Store.functions`; the host adds
and reads files by requests. A store has so many files and so many bytes in all.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from typing import Any

#: A name is what a path in an archive may be: no absolute one, no step up, no control character, no drive,
#: and no dot or blank at the end of a part, which Windows leaves out.
_PART = r"[^/\\:\x00-\x1f\x7f-\x9f\ud800-\udfff]+(?<![. ])"
_NAME = re.compile(rf"{_PART}(?:/{_PART})*")
MAX_NAME = 200


class Store:
    """The files of one session, within its limits. Contents are exact bytes, or a bytearray once a cell writes."""

    def __init__(self, files: int, file_bytes: int) -> None:
        self._most = files
        self._most_bytes = file_bytes
        self._files: dict[str, bytes | bytearray] = {}
        self._bytes = 0
        self._changed: set[str] = set()

    def changed(self) -> dict[str, int]:
        """The files that were written since this was last called, and are still there, with their sizes."""
        if not self._changed:
            return {}
        changed, self._changed = self._changed, set()
        return {name: len(self._files[name]) for name in sorted(changed & self._files.keys())}

    def sizes(self) -> dict[str, int]:
        """The size of each file."""
        return {name: len(data) for name, data in self._files.items()}

    def part(self, name: str, begin: int, count: int) -> bytes | None:
        """`count` bytes of a file, or less at its end; None if there is no such file."""
        data = self._files.get(name)
        return None if data is None else bytes(memoryview(data)[begin : begin + count])

    def put(self, name: str, data: bytes) -> None:
        """Set the contents of a file, as the host asked. Raises as `functions` do."""
        self._replace(_checked(name), data)

    def remove(self, name: str) -> None:
        """Remove a file. Raises FileNotFoundError."""
        self._bytes -= len(self._existing(name))
        del self._files[name]

    def functions(self) -> dict[str, Callable[..., Any]]:
        """What the object `files` is made of: functions of exact str, bytes and int that return such.

        They raise FileNotFoundError, FileExistsError, OSError where there is no room, ValueError for a name that no
        file can have, and TypeError.
        """

        def names() -> list[str]:
            return sorted(self._files)

        def size(name: str) -> int:
            return len(self._existing(_checked(name)))

        def read(name: str, begin: int = 0, count: int = -1) -> bytes:
            data = self._existing(_checked(name))
            begin, count = _index(begin), len(data) if type(count) is not int or count < 0 else count
            if begin == 0 and count >= len(data):
                return bytes(data)  # no copy of a file that no cell has written to
            return bytes(memoryview(data)[begin : begin + count])

        def create(name: str, new: bool = False) -> None:
            if new and _checked(name) in self._files:
                raise FileExistsError(errno.EEXIST, "the file exists", name)
            self._write(_checked(name), b"")

        def write(name: str, at: int, data: bytes) -> int:
            name, at = _checked(name), _index(at)
            if type(data) not in (bytes, bytearray):
                raise TypeError(f"a file takes bytes, not {type(data).__name__}")
            old = self._existing(name)
            if not data:
                return 0  # as for a file on a disk, which does not grow by writing nothing behind its end
            self._room(name, max(len(old), at + len(data)) - len(old))
            if type(old) is not bytearray:
                old = self._files[name] = bytearray(old)
            before = len(old)
            if at > before:
                old.extend(bytes(at - before))
            old[at : at + len(data)] = data
            self._bytes += len(old) - before
            self._changed.add(name)
            return len(data)

        def truncate(name: str, to: int) -> None:
            data = self._existing(_checked(name))
            self._room(name, _index(to) - len(data))
            self._write(name, bytes(memoryview(data)[:to]) + bytes(max(to - len(data), 0)))

        def remove(name: str) -> None:
            self.remove(_checked(name))
            self._changed.add(name)

        return {each.__name__: each for each in (names, size, read, create, write, truncate, remove)}

    def _existing(self, name: str) -> bytes | bytearray:
        data = self._files.get(name)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such file; files.names() lists all", name)
        return data

    def _write(self, name: str, data: bytes) -> None:
        self._replace(name, data)
        self._changed.add(name)

    def _replace(self, name: str, data: bytes) -> None:
        old = self._files.get(name)
        if old is None and len(self._files) >= self._most:
            raise OSError(errno.ENOSPC, f"there may be {self._most} files (limits.files); remove one first", name)
        self._room(name, len(data) - len(old or b""))
        self._files[name] = data
        self._bytes += len(data) - len(old or b"")

    def _room(self, name: str, more: int) -> None:
        if self._bytes + more > self._most_bytes:
            said = f"all files together may take {self._most_bytes} bytes (limits.file_bytes); write less"
            raise OSError(errno.ENOSPC, said, name)


def _checked(name: Any) -> str:
    if type(name) is not str:
        raise TypeError(f"the name of a file is a str, not {type(name).__name__}")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise ValueError(
            f"{name[:MAX_NAME]!r} cannot be a file's name: it has 1 to {MAX_NAME} characters, and parts divided by /, "
            "none of which is empty, . or .. or has a control character, a backslash or a colon"
        )
    return name


def _index(at: Any) -> int:
    if type(at) is not int or not 0 <= at <= 1 << 62:
        raise ValueError("a position in a file is an int that is not negative")
    return at
