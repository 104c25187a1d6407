"""A session's process: walled in before it is known whose it will be, then told by its host over its own socket.

The zygote forks it and learns nothing of what it is for: limits, tools and policy of a session are in the memory of
that session's processes alone. The first message on the socket is

    {op: setup, profile, limits, begin?, warm?, huge_pages?}

with the name of the filter, rlimits by name, and the first request where it is known beforehand. `warm` runs a cell
first: for one that is made ready while nobody waits. `huge_pages` says that a memory cgroup counts them.
A profile with checkpoints is answered with one byte and the listener of clone(2) (listener.py). Then comes `ready`.

Guards: a session before it is one: sealed, waiting for whoever wants it
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import os
import signal
from collections.abc import Callable, Mapping

from .. import wire
from ..kernel import listener, seal, walls
from ..session import worker

#: The profile whose sessions copy themselves. Without a listener they have the plain one, and no checkpoints.
_CHECKPOINTS, _PLAIN = "worker-checkpoint", "worker"


class Child:
    """The zygote's handle. `spawn(body)` forks a child that runs `body`, and returns its pid."""

    def __init__(
        self,
        spawn: Callable[[Callable[[], None]], int],
        profiles: Mapping[str, bytes | None],
        landlock: int | None,
        *,
        own_namespaces: bool,
    ) -> None:
        # From the C module: what the wrapper does in Python costs the zygote copies of pages, each time.
        self.connection, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

        def body() -> None:
            walls.keep_only(theirs.fileno(), landlock)
            _serve(profiles, landlock, own_namespaces=own_namespaces)

        try:
            self.pid = spawn(body)
            self.pidfd = pidfd(self.pid)
        except BaseException:  # whatever it was: the descriptor would stay
            self.connection.close()
            raise
        finally:
            theirs.close()

    def close(self) -> None:
        """Let go of it; one that nobody else holds ends."""
        self.connection.close()
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


def _serve(profiles: Mapping[str, bytes | None], landlock: int | None, *, own_namespaces: bool) -> None:
    """The child: seal, and serve the session."""
    found = walls.enclose(landlock, own_namespaces=own_namespaces)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies of the worker that end leave no zombie
    # Made before the filter is on, and from the C module: the wrapper asks the kernel for what we know.
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, wire.FD)
    channel = wire.Channel(connection)
    session = worker.Worker()
    try:
        setup = channel.receive()
    except wire.Closed:  # nobody wanted it
        return
    if setup.get("huge_pages"):
        with contextlib.suppress(OSError):
            seal.huge_pages(True)
    begin = setup.get("begin")
    if begin is not None and setup.get("warm"):
        session.warm(begin)
        begin = None
    profile, limits = setup["profile"], setup["limits"]
    if profile == _CHECKPOINTS and profiles[profile] is not None and not listener.offer(connection):
        profile, limits = _PLAIN, {**limits, "NPROC": 0}
    walls.confine(found, profiles[profile], limits)
    session.serve(channel, found.found, begin)
