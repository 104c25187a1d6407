"""A file of JSON lines that never blocks its run: limited in bytes and in time, and whole lines only.

A disk may be full, a directory deleted, a file server silent. A failure is returned as text, never raised: the caller
decides whether it matters.
"""

from __future__ import annotations

import json
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from rlm_secure import files

#: Longest wait for one append, in seconds: a file system that takes longer counts as gone.
_PATIENCE: Final = 30.0
#: Bytes that are encoded before they are written.
_CHUNK: Final = 1024 * 1024


class _Full(Exception):
    """The file has reached its limit of bytes."""


class LogFile:
    """Appends JSON objects to `path`, one per line, in ASCII. One run at a time writes; thread-safe.

    The file is created with the first line, for its owner only, with no symbolic link in its path. It stays open, so
    the owner of its folder cannot replace it. After a failure nothing is written until the next begin(): a file with
    a gap would look complete.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._room: float = math.inf
        self._problem: str | None = None

    def begin(self, room: int) -> None:
        """Start a run, which may add `room` bytes. Forget earlier failures, except a write that still hangs."""
        if not self._lock.locked():
            self._room, self._problem = room, None

    def append(self, entries: Iterable[Mapping[str, Any]], seconds_left: Callable[[], float]) -> str | None:
        """Add lines, for at most `seconds_left()`. Returns why they are not in the file; None when they are.

        A write that hangs is left behind in its own thread.
        """
        if self._problem is not None:
            return self._problem
        if seconds_left() == math.inf:
            self._write(entries, seconds_left)
            return self._problem
        writer = threading.Thread(target=self._write, args=(entries, seconds_left), name="rlm-secure-log", daemon=True)
        writer.start()
        writer.join(max(0.0, min(_PATIENCE, seconds_left())))
        if writer.is_alive():
            self._problem = self._problem or f"{self.path} did not take a line in time"
        return self._problem

    def _write(self, entries: Iterable[Mapping[str, Any]], seconds_left: Callable[[], float]) -> None:
        with self._lock:
            if self._problem is not None:
                return
            try:
                descriptor = self._open()
                for entry in entries:
                    self._line(descriptor, entry, seconds_left)
                os.close(os.dup(descriptor))  # some file systems report a full disk only at a close
            except _Full:
                self._problem = f"{self.path} is as large as data.log_bytes lets one run make it"
            except TimeoutError:
                self._problem = f"{self.path} did not take a line in time"
            except OSError as error:
                self._problem = f"{self.path} cannot be written ({error.strerror or type(error).__name__})"

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = files.create(self.path, folders=True)
            weakref.finalize(self, os.close, self._descriptor)
        if not os.fstat(self._descriptor).st_nlink:
            raise OSError(0, "somebody removed it")
        return self._descriptor

    def _line(self, descriptor: int, entry: Mapping[str, Any], seconds_left: Callable[[], float]) -> None:
        """Write one whole line, or nothing."""
        begin = os.fstat(descriptor).st_size
        room = self._room
        try:
            for chunk in _chunks(entry):
                room -= len(chunk)
                if room < 0:
                    raise _Full
                if seconds_left() <= 0:
                    raise TimeoutError
                data = memoryview(chunk)
                while data:
                    data = data[os.write(descriptor, data) :]
        except BaseException:  # Ctrl-C as well: readers could not parse the log beyond half a line
            os.ftruncate(descriptor, begin)
            raise
        self._room = room


def _chunks(entry: Mapping[str, Any]) -> Iterable[bytes]:
    """The line of an entry, in pieces: encoding a large turn at once would take several times its memory."""
    encoder = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    pieces: list[str] = []
    size = 0
    for piece in encoder.iterencode(entry):
        pieces.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield "".join(pieces).encode("ascii")
            pieces, size = [], 0
    yield ("".join(pieces) + "\n").encode("ascii")
