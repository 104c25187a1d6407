"""Starts a zygote under its own uid, as a second program of the sandbox, beside the supervisor.

This gives a sandbox two users where no process may change its user: no capability, no root. Whoever creates the sandbox
starts both programs. `zygote PATH` connects to the supervisor's socket at PATH, and turns into the plain `zygote FD` by
exec, with a clean environment. The supervisor accepts one connection, from the uid in its configuration, before any
untrusted code runs, and then removes the socket.

Guards: that the process which forks a supervisor's workers has the uid that was requested
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from typing import NoReturn

_WAIT_SECONDS = 30.0
_AGAIN_SECONDS = 0.01
_KEPT = ("LD_LIBRARY_PATH",)  # where a shared libpython is; no other variable of our environment is passed on
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: pid, uid, gid


class ZygoteListener:
    """The supervisor's socket at `path`, for one zygote. Raises OSError where it cannot be created."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        before = os.umask(0o111)  # another user connects
        try:
            self._listener.bind(path)
        finally:
            os.umask(before)
        self._listener.listen(1)

    def accept(self, uid: int, errors: int) -> tuple[socket.socket, int]:
        """The zygote's control socket and pid. It gets `errors` as its standard error. Raises OSError.

        The socket is removed after one connection, even a refused one.
        """
        try:
            self._listener.settimeout(_WAIT_SECONDS)
            control, _ = self._listener.accept()
        finally:
            self._listener.close()
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        try:
            control.settimeout(_WAIT_SECONDS)
            pid, theirs = _introduced(control, errors)
            if theirs != uid:
                raise OSError(1, f"the zygote came as uid {theirs}, not as {uid}")
            control.settimeout(None)
        except BaseException:  # Ctrl-C as well: no descriptor stays open
            control.close()
            raise
        return control, pid


def _introduced(control: socket.socket, errors: int) -> tuple[int, int]:
    """Send the zygote `errors`; return its pid and uid, which the kernel attaches to its answer.

    SO_PEERCRED would give the same, except in gVisor, where it returns the caller's own ids.
    """
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    socket.send_fds(control, [b"errors"], [errors])
    _, ancillary, _, _ = control.recvmsg(16, socket.CMSG_SPACE(_CREDENTIALS.size))
    control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    for level, kind, data in ancillary:
        if (level, kind, len(data)) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, _CREDENTIALS.size):
            pid, uid, _ = _CREDENTIALS.unpack(data)
            return pid, uid
    raise OSError(1, "the kernel does not say who came")


def become_zygote(path: str) -> NoReturn:
    """Connect to the supervisor at `path` and become its zygote. Raises OSError when there is none."""
    control = _connected(path)
    _, (errors, *_), _, _ = socket.recv_fds(control, 16, 1)
    control.send(b"here")
    os.dup2(errors, 2)
    os.close(errors)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "r+") as file:
        raised = min(int(file.read()) + 500, 1000)  # the kernel kills this process before the supervisor
        file.seek(0)
        file.write(str(raised))
    os.set_inheritable(control.fileno(), True)
    os.execve(sys.executable, command(sys.argv[0], control.fileno()), environment())


def command(bundle: str, control: int) -> list[str]:
    """The command line of a zygote whose control socket is the descriptor `control`."""
    return [sys.executable, "-I", "-S", "-B", "-X", "utf8", bundle, "zygote", str(control)]


def environment() -> dict[str, str]:
    """The whole environment that a zygote starts with."""
    fixed = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "LC_ALL": "C.UTF-8", "LD_BIND_NOW": "1"}
    return {**fixed, **{name: os.environ[name] for name in _KEPT if name in os.environ}}


def _connected(path: str) -> socket.socket:
    until = time.monotonic() + _WAIT_SECONDS
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    while True:
        try:
            control.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):  # the supervisor is still starting
            if time.monotonic() > until:
                raise
            time.sleep(_AGAIN_SECONDS)
        else:
            return control
