"""The process of the next session: forked ahead, and sealed as far as that needs no policy, while nobody waits.

It holds nothing of anybody's. What it is told when a session is wanted, once, in one message from the zygote, is
the session's limits and profile, and its socket.

Guards the boundary: keep it under 300 lines, and change it only with a test beside it.
"""

from __future__ import annotations

import _socket
import errno
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping

from . import walls, wire, worker

_MESSAGE = 256 * 1024


class Ahead:
    """The zygote's handle. `spawn(body)` forks a child that runs `body`, and returns its pid."""

    def __init__(
        self,
        spawn: Callable[[Callable[[], None]], int],
        profiles: Mapping[str, bytes | None],
        landlock: int | None,
        *,
        own_namespaces: bool,
    ) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.pid = spawn(lambda: _wait(theirs.fileno(), profiles, landlock, own_namespaces=own_namespaces))
            self.pidfd = pidfd(self.pid)
        except BaseException:
            self._channel.close()
            raise
        finally:
            theirs.close()

    def begin(self, request: bytes, connection: int) -> None:
        """Make it the session that `request` asks for, at the other end of `connection`. Raises OSError."""
        socket.send_fds(self._channel, [request], [connection])

    def close(self) -> None:
        """Let go of it; one that was told nothing ends."""
        self._channel.close()
        if self.pidfd is not None:
            os.close(self.pidfd)


def pidfd(pid: int) -> int | None:
    """A pidfd; None where the kernel has none. Raises OSError for a process that is not there."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return None


def _wait(channel: int, profiles: Mapping[str, bytes | None], landlock: int | None, *, own_namespaces: bool) -> None:
    """The child: seal what can be sealed, wait for the request, seal the rest, and serve the session."""
    walls.keep_only(channel, landlock)
    found = walls.enclose(landlock, own_namespaces=own_namespaces)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies of the worker that end leave no zombie
    with socket.socket(fileno=wire.FD) as waiting:
        data, fds, _flags, _address = socket.recv_fds(waiting, _MESSAGE, 1)
        if not fds:
            return
        os.dup2(fds[0], wire.FD)
        os.close(fds[0])
        waiting.detach()
    request = json.loads(data)
    # Made before the filter is on, and from the C module: the wrapper asks the kernel for what we know.
    session = worker.Worker(wire.Channel(_socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, wire.FD)))
    walls.confine(found, profiles[request["profile"]], request["limits"])
    session.serve(found.found, request.get("begin"))
