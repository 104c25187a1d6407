"""Receives contexts: writes chunks to a memfd in order, can resume, checks the whole, then seals it.

There is one copy of the bytes: the worker maps the pages that the chunks were written to. They are also hashed only
once: each chunk for its signature, and the whole as the hash of the hashes of its chunks.

Guards: contexts in a sandbox: in order, complete, sealed
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import resource
from collections.abc import Iterator

from .http import HttpError

MAX_CHUNK = 8 * 1024 * 1024
#: Contexts that can exist at once: those that a replayed session may need, and those that are being uploaded. Each
#: has a descriptor; this number leaves half of a container's descriptors free for everything else.
MAX_UPLOADS = 96
#: Descriptors kept free for connections, the zygote and the worker, where a lower limit applies.
_OTHERS = 64

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_SIZE = re.compile(r"0|[1-9][0-9]{0,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SHORT = frozenset({errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
_PADDING = bytes(4)  # the NUL that ends a str in memory, at its widest


class _Upload:
    def __init__(self, total: int) -> None:
        self.total = total
        self.received = 0
        self.hash = hashlib.sha256()
        self.digest: str | None = None
        self.fd = os.memfd_create("context", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)


class Uploads:
    """The contexts of one supervisor, by number. Each has at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._uploads: dict[str, _Upload] = {}
        self._most = max(1, min(MAX_UPLOADS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHERS))

    def put(self, number: str, query: dict[str, str], data: bytearray, digest: str) -> int:
        """Write one chunk, whose sha256 is `digest`, and return how many bytes of the whole have arrived.

        Raises HttpError.

        `offset` and `total` count bytes. The chunk that completes the context carries `sha256`, the hash of all
        chunks' hashes in order. A chunk that has arrived before changes nothing, so a host that missed an answer can
        send it again.
        """
        offset, total = (_size(query, name) for name in ("offset", "total"))
        if total > self._limit:
            raise HttpError(413, "context-size", f"a context of {total} bytes is over the limit of {self._limit}")
        upload = self._uploads.get(number)
        if upload is None:
            if len(self._uploads) >= self._most:
                said = f"there are {self._most} contexts already; DELETE those that are loaded"
                raise HttpError(429, "uploads", said)
            with _shortage_raised():
                upload = self._uploads[number] = _Upload(total)
        if upload.total != total or offset + len(data) > total:
            raise HttpError(409, "context-total", f"this context has {upload.total} bytes in all")
        if offset == upload.received:
            _write(upload.fd, upload.received, data)
            upload.received += len(data)
            if upload.digest is None:
                upload.hash.update(bytes.fromhex(digest))
        elif offset + len(data) > upload.received:
            raise HttpError(409, "context-gap", f"{upload.received} bytes are here; go on from there")
        if upload.received == total:
            self._finish(number, upload, query.get("sha256", ""))
        return upload.received

    def share(self, number: str) -> int:
        """A descriptor of a complete context, for the worker. Raises HttpError."""
        upload = self._uploads.get(number)
        if upload is None or upload.digest is None:
            raise HttpError(409, "context-incomplete", f"context {number[:4]} is not here, or not complete")
        with _shortage_raised():
            return os.dup(upload.fd)

    def drop(self, number: str) -> None:
        """Remove a context. A worker that has mapped it keeps it."""
        upload = self._uploads.pop(number, None)
        if upload is not None:
            os.close(upload.fd)

    def clear(self) -> None:
        """Remove all contexts, complete or not."""
        for number in list(self._uploads):
            self.drop(number)

    def _finish(self, number: str, upload: _Upload, digest: str) -> None:
        if upload.digest is None:
            if not _DIGEST.fullmatch(digest):
                raise HttpError(422, "context-hash", "the last chunk carries the sha256 of the whole")
            if upload.hash.hexdigest() != digest:
                self.drop(number)
                raise HttpError(422, "context-hash", "the context is not what was hashed; it was dropped")
            _write(upload.fd, upload.total, _PADDING)
            fcntl.fcntl(upload.fd, fcntl.F_ADD_SEALS, _SEALS)
            upload.digest = digest
        elif digest not in ("", upload.digest):
            raise HttpError(409, "context-hash", "this context is complete, with another hash")


def _write(fd: int, at: int, data: bytes | bytearray) -> None:
    """Write `data` at the offset `at`. After a partial write, the same chunk can be sent again and overwrites it."""
    os.lseek(fd, at, os.SEEK_SET)
    view = memoryview(data)
    while view:
        with _shortage_raised():
            view = view[os.write(fd, view) :]


@contextlib.contextmanager
def _shortage_raised() -> Iterator[None]:
    """Raise HttpError if the block runs out of memory, space or descriptors."""
    try:
        yield
    except OSError as error:
        if error.errno not in _SHORT:
            raise
        said = errno.errorcode.get(error.errno, "")
        raise HttpError(507, "context-memory", f"there is no room for this context in the sandbox ({said})") from None


def _size(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if not _SIZE.fullmatch(text):
        raise HttpError(400, "query", f"{name} is a number of bytes")
    return int(text)
