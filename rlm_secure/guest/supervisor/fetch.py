"""Reads bytes for the supervisor from a file that the provider has put into the sandbox.

The supervisor itself can open no file once it is sealed, so `dial` reads it. Its name and sizes come from the host, its
contents from the provider: neither is trusted here, and the supervisor checks what it is sent by the signed digest. The
file is opened only within its own directory, never through a link, and never gives more bytes than were announced, in
bounded memory, however it is compressed.

Guards: which files `dial` reads for the supervisor, and how many bytes they become
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib

#: The directory beside the supervisor's socket that has the files.
STORED = "stored"
#: As in uploads.py: what a request may carry.
MAX_CHUNK = 8 * 1024 * 1024

_NAME = re.compile(r"[0-9a-f]{32}")
_PIECE = 64 * 1024


class Fetch:
    """One file of `directory`: `stored` bytes, which are the `size` bytes to send, compressed (zlib) if `packed`.

    Raises OSError where it cannot be opened, and ValueError where it is not what was announced.
    """

    def __init__(self, directory: str, name: str, stored: int, size: int, packed: bool) -> None:
        if not _NAME.fullmatch(name) or not 0 < stored <= MAX_CHUNK or not 0 < size <= MAX_CHUNK:
            raise ValueError("this names no file here")
        self._name = name
        self._unread, self._left = stored, size
        self._unpacker = zlib.decompressobj() if packed else None
        self._tail = b""
        self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._fd = -1
        try:
            # Without O_NONBLOCK, a pipe of that name would stop the whole stream.
            self._fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._directory)
            about = os.fstat(self._fd)
            if not stat.S_ISREG(about.st_mode) or about.st_size != stored:
                raise ValueError("the file is not what was announced")
        except BaseException:  # an interrupt as well: the descriptors would stay
            self.close()
            raise

    def read(self) -> bytes:
        """The next bytes, at most 64 KiB; b"" once all of them were given. Raises ValueError if there are fewer."""
        while self._left:
            data = self._tail or os.read(self._fd, min(_PIECE, self._unread))
            if not data:
                raise ValueError("the file is shorter than was announced")
            if not self._tail:
                self._unread -= len(data)
            data = self._unpacked(data)
            if data:
                self._left -= len(data)
                return data
        return b""

    def _unpacked(self, data: bytes) -> bytes:
        if self._unpacker is None:
            return data[: self._left]
        if self._unpacker.eof:
            raise ValueError("the file holds fewer bytes than were announced")
        try:
            data = self._unpacker.decompress(data, min(_PIECE, self._left))
        except zlib.error:
            raise ValueError("the file is not compressed") from None
        self._tail = self._unpacker.unconsumed_tail
        return data

    def remove(self) -> None:
        """Remove the file, and close it."""
        with contextlib.suppress(OSError):  # another user's directory: the file ends with the sandbox
            os.unlink(self._name, dir_fd=self._directory)
        self.close()

    def close(self) -> None:
        """Close what is open."""
        for fd in (self._fd, self._directory):
            if fd >= 0:
                os.close(fd)
        self._fd = self._directory = -1
