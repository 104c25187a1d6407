"""Forks a session's process in advance: it is sealed first, and receives its setup later over its own socket.

The zygote learns nothing about the session: its limits, tools and policy are only in the memory of the session's own
processes. The first message on the socket is

    {op: setup, profile, limits, begin?, warm?, huge_pages?}

with the name of the seccomp filter, rlimits by name, and the first request if it is known by then. `warm` runs one cell
before the session is used, while nobody waits. `huge_pages` says that a memory cgroup counts huge pages.
For a profile with checkpoints, one byte with the listener of clone(2) comes first (listener.py), then `ready`.

Guards: a process that is sealed before it becomes a session, while it waits for its setup
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import contextlib
import errno
import os
from collections.abc import Callable, Mapping

from .. import wire
from ..kernel import listener, seal, walls
from ..session import worker

#: The profile of sessions that fork checkpoints. Without a listener they get the plain one, and have no checkpoints.
_CHECKPOINTS, _PLAIN = "worker-checkpoint", "worker"


class Child:
    """The zygote's handle of a forked session. `spawn(body)` forks a child that runs `body`, and returns its pid."""

    def __init__(
        self,
        spawn: Callable[[Callable[[], None]], int],
        profiles: Mapping[str, bytes | None],
        landlock: int | None,
        *,
        own_namespaces: bool,
    ) -> None:
        # From the C module: the Python wrapper would cost the zygote copies of pages each time.
        self.connection, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

        def body() -> None:
            walls.keep_only(theirs.fileno(), landlock)
            _serve(profiles, landlock, own_namespaces=own_namespaces)

        try:
            self.pid = spawn(body)
            self.pidfd = pidfd(self.pid)
        except BaseException:  # Ctrl-C as well: the descriptor must not stay open
            self.connection.close()
            raise
        finally:
            theirs.close()

    def close(self) -> None:
        """Close our descriptors. The process ends if nobody else has its socket."""
        self.connection.close()
        if self.pidfd is not None:
            os.close(self.pidfd)


def pidfd(pid: int) -> int | None:
    """A pidfd of `pid`; None where the kernel has no pidfds. Raises OSError if there is no such process."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return None


def _serve(profiles: Mapping[str, bytes | None], landlock: int | None, *, own_namespaces: bool) -> None:
    """In the child: raise the walls, then serve the session."""
    found = walls.enclose(landlock, own_namespaces=own_namespaces)
    # Copies of the worker that end leave no zombie. From the C module: the enums of `signal` cost 30 copies of pages.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
    # Created before the filter is installed, and from the C module: the Python wrapper makes system calls to find out
    # the family and type.
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, wire.FD)
    channel = wire.FrameChannel(connection)
    session = worker.SessionWorker()
    try:
        setup = channel.receive()
    except wire.Closed:  # it was never used
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
