"""A Unix socket that the host listens on and the supervisor connects to.

The direction is deliberate. The directory of the socket is mounted read-only into the container, so that
nothing inside can write to, link into or fill up the host; and a supervisor whose host process is gone cannot
connect, and exits.

Guards: the directory of a container's socket, the only part of the host that the container sees
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from rlm_secure.broker.transports import TransportLost, left
from rlm_secure.broker.transports.pooled import PooledTransport
from rlm_secure.removal import RemovalError, remove

SOCKET_NAME = "broker"
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: pid, uid, gid
_BACKLOG = 8
_ACCEPT_SECONDS = 1.0
#: Connections that one request may skip: of another uid, broken, or sending first, as a supervisor's never are.
#: After more of them, the request is retried after its sender's growing pause.
_MAX_STRAY = 64
_RUNTIME_DIRECTORIES = ("/run", "/run/user/{uid}")


class UnixTransport(PooledTransport[socket.socket]):
    """Listens in a new private directory. `directory` is what a sandbox may see: the socket, and `files`.

    The parent of `directory` is accessible to this user only (0700), so its own mode can admit any uid of a
    container. Its content is created before the sandbox starts, and is read-only inside.

    The first to connect, before any untrusted code runs, is the supervisor: connections of other uids are closed.
    """

    name = "unix"

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self._private = tempfile.mkdtemp(prefix="rlm-secure-", dir=_runtime_directory())
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._closed = False
        self._peer: int | None = None  # the supervisor's uid as the host sees it, after any mapping
        self.reached = False  # whether a sandbox ever connected
        self.directory = str(Path(self._private, "d"))
        Path(self.directory).mkdir(mode=0o755)
        Path(self.directory).chmod(0o755)  # whatever the umask is
        for name, data in (files or {}).items():
            path = Path(self.directory, name)
            path.write_bytes(data)
            path.chmod(0o444)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = Path(self.directory, SOCKET_NAME)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen(_BACKLOG)

    def close(self) -> None:
        """Close every connection, and remove the directory. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._listener):
            connection.close()
        remove(self._private)

    def _take(self, deadline: float) -> socket.socket:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if _quiet(connection):
                    return connection
                connection.close()
        until = min(time.monotonic() + _ACCEPT_SECONDS, deadline)
        left(deadline)
        for _ in range(_MAX_STRAY):
            connection = self._accepted(until)
            if self._knows(connection) and _quiet(connection):
                self.reached = True
                return connection
            connection.close()
        raise TransportLost(
            f"{_MAX_STRAY} connections from the sandbox were another user's, broke, or spoke before they were asked"
        )

    def _accepted(self, until: float) -> socket.socket:
        try:
            # In slices: between them, the sender checks whether the sandbox still exists.
            self._listener.settimeout(max(until - time.monotonic(), 0.001))
            return self._listener.accept()[0]
        except OSError as error:
            raise TransportLost(f"nobody connected from the sandbox: {error}") from None

    def _knows(self, connection: socket.socket) -> bool:
        """Whether the supervisor connected: a worker has another uid, where there are two."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(credentials)
        with self._lock:
            if self._peer is None:
                self._peer = uid
            return bool(uid == self._peer)

    def _give_back(self, connection: socket.socket, keep: bool) -> None:
        with self._lock:
            if keep and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def _quiet(connection: socket.socket) -> bool:
    """Whether an idle connection is still open and has sent nothing."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _runtime_directory() -> str | None:
    """A directory for sockets that is cleared at boot and that an engine on this machine can see."""
    for each in (os.environ.get("RLM_SECURE_SOCKETS", ""), *_RUNTIME_DIRECTORIES):
        path = each.format(uid=os.getuid())
        if os.access(path, os.W_OK | os.X_OK):
            return path
    return None


def sweep(older_than_seconds: float = 60.0) -> int:
    """Remove socket directories whose host process is gone; returns how many were removed.

    Raises RemovalError for the first that cannot be removed, after removing all others.
    """
    if not hasattr(socket, "SO_PEERCRED"):  # no session of this system has one
        return 0
    removed = 0
    failures: list[RemovalError] = []
    for private in Path(_runtime_directory() or tempfile.gettempdir()).glob("rlm-secure-*"):
        if not _abandoned(private, older_than_seconds):
            continue
        try:
            remove(private)
            removed += 1
        except RemovalError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return removed


def _abandoned(private: Path, older_than_seconds: float) -> bool:
    """Whether it is a socket directory of this user whose host process is gone; False where that is unknown."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        about = private.lstat()  # a symbolic link is refused, whatever it points to
        old = time.time() - about.st_mtime >= older_than_seconds
        if not (stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and old):
            return False
        try:
            probe.connect(str(private / "d" / SOCKET_NAME))
        except ConnectionRefusedError:  # bound, and no process listens
            return True
    return False
