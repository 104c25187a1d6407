"""A relay to a Unix socket of the host, for an arena whose users may not open it: forwards bytes without parsing them.

Guards: a shared socket: bytes for the arena's root and the nested root, forwarded without parsing
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rlm_secure.removal import remove

_CHUNK = 1 << 16
_BACKLOG = 64
#: Limit of simultaneous connections: their threads and descriptors are outside of the arena and its limits.
_MOST = 256


class Relay:
    """Listens at `path` for peers with one of `uids`, and forwards each connection to `target`."""

    def __init__(self, target: Path, *, uids: tuple[int, ...]) -> None:
        self._target = str(target)
        self._uids = uids
        self._directory = tempfile.mkdtemp(prefix="rlm-secure-relay-")
        Path(self._directory).chmod(0o711)
        self.path = f"{self._directory}/socket"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        Path(self.path).chmod(0o666)  # access is decided by SO_PEERCRED in _connect
        self._listener.listen(_BACKLOG)
        self._room = threading.BoundedSemaphore(_MOST)
        threading.Thread(target=self._serve, name="rlm_secure-relay", daemon=True).start()

    def take_away(self) -> None:
        """Remove the socket's path: the arena has it mounted by now, and nothing is left if this process is killed."""
        remove(self._directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        remove(self._directory)

    def _serve(self) -> None:
        while True:
            try:
                theirs, _ = self._listener.accept()
            except OSError as error:
                if error.errno in (errno.EBADF, errno.EINVAL):
                    return  # closed
                time.sleep(0.05)  # no descriptor free, or the peer has disconnected
                continue
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._connect, args=(theirs,), daemon=True).start()
            else:
                theirs.close()
            del theirs

    def _connect(self, theirs: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError), theirs, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ours:
                _, uid, _ = struct.unpack("iII", theirs.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                if uid not in (*self._uids, os.getuid()):
                    return  # another user of this machine
                ours.connect(self._target)
                back = threading.Thread(target=_pass_on, args=(ours, theirs), daemon=True)
                back.start()
                _pass_on(theirs, ours)
                back.join()
        finally:
            self._room.release()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Copy until either side ends, then shut down this direction on both sockets."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    with contextlib.suppress(OSError):
        source.shutdown(socket.SHUT_RD)  # a peer that still writes gets an error
