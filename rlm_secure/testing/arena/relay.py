"""A Unix socket of the host for an arena whose users may not open it: bytes are passed on, nothing is understood."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from rlm_secure.removal import remove

_CHUNK = 1 << 16
_BACKLOG = 64


class Relay:
    """Listens at `path` for the one user `uid`, and connects each of its connections to `target`."""

    def __init__(self, target: Path, *, uid: int) -> None:
        self._target = str(target)
        self._uid = uid
        self._directory = tempfile.mkdtemp(prefix="rlm-secure-relay-")
        Path(self._directory).chmod(0o711)
        self.path = f"{self._directory}/socket"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        Path(self.path).chmod(0o666)  # the kernel's word on who connects decides, below
        self._listener.listen(_BACKLOG)
        threading.Thread(target=self._serve, name="rlm_secure-relay", daemon=True).start()

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
            except OSError:
                return  # closed
            _, uid, _ = struct.unpack("iII", theirs.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            ours = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                if uid not in (self._uid, os.getuid()):
                    raise PermissionError(f"uid {uid} is not of the arena")
                ours.connect(self._target)
            except OSError:
                theirs.close()
                ours.close()
                continue
            for source, sink in ((theirs, ours), (ours, theirs)):
                threading.Thread(target=_pass_on, args=(source, sink), daemon=True).start()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Copy until one side ends; then end the other side's direction. The sockets close with their last user."""
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
