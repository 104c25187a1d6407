"""A session's process: sealed, and at one end of a socket whose other end goes to the host.

One is forked ahead, while nobody waits, for a session like the last: whoever wants such a one gets it. It holds nothing
of anybody's. For any other one is forked when it is wanted.

Guards: a session before it is one: sealed, waiting for whoever wants it
"""

from __future__ import annotations

import _socket
import errno
import os
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import walls, wire, worker


@dataclass(frozen=True)
class Kind:
    """What a session is like from the start: its filter's name, its limits, and its first request where it is known."""

    profile: str
    limits: dict[str, Any]
    begin: dict[str, Any] | None


class Child:
    """The zygote's handle. `spawn(body)` forks a child that runs `body`, and returns its pid. `warm` is for one that is
    forked ahead: it costs a millisecond that nobody waits for."""

    def __init__(
        self,
        spawn: Callable[[Callable[[], None]], int],
        kind: Kind,
        program: bytes | None,
        landlock: int | None,
        *,
        own_namespaces: bool,
        warm: bool,
    ) -> None:
        # From the C module: what the wrapper does in Python costs the zygote copies of pages, each time.
        self.connection, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

        def body() -> None:
            walls.keep_only(theirs.fileno(), landlock)
            _serve(kind, program, landlock, own_namespaces=own_namespaces, warm=warm)

        try:
            self.pid = spawn(body)
            self.pidfd = pidfd(self.pid)
        except BaseException:  # whatever it was: the descriptor would stay
            self.connection.close()
            raise
        finally:
            theirs.close()

    def waits(self) -> bool:
        """Whether it has not ended. Only where the kernel has pidfds is one forked ahead."""
        poll = select.poll()
        if self.pidfd is None:
            return False
        poll.register(self.pidfd, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Let go of it; one that nobody else holds ends."""
        self.connection.close()
        if self.pidfd is not None:
            os.close(self.pidfd)


class Ahead:
    """At most one child that waits to be the next session. `make(kind)` forks one."""

    def __init__(self, make: Callable[[Kind], Child]) -> None:
        self._make = make
        self._expected: Kind | None = None
        self._last: Kind | None = None
        self._waiting: Child | None = None

    @property
    def due(self) -> bool:
        """Whether there is none, and it is known what one would be for."""
        return self._waiting is None and self._expected is not None

    def fork(self) -> Child | None:
        """The one that waits; made now where it is due. Raises OSError when the machine is out of processes."""
        if self._waiting is None and self._expected is not None:
            self._waiting = self._make(self._expected)
        return self._waiting

    def take(self, kind: Kind) -> Child | None:
        """The one that waits, where it is of that kind and lives. The next one is made for what is wanted now."""
        if self._waiting is not None and not self._waiting.waits():
            self._discard()
        child = None
        if kind == self._expected:
            child, self._waiting = self._waiting, None
        elif kind.begin is not None and (self._expected is None or kind == self._last):
            # Wanted twice in a row: two kinds in turn would each discard what was made for the other.
            worker.prepare(kind.begin["modules"])
            self._expected = kind
            self._discard()
        self._last = kind
        return child

    def _discard(self) -> None:
        if self._waiting is not None:
            self._waiting.close()
            self._waiting = None


def pidfd(pid: int) -> int | None:
    """A pidfd; None where the kernel has none. Raises OSError for a process that is not there."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return None


def _serve(kind: Kind, program: bytes | None, landlock: int | None, *, own_namespaces: bool, warm: bool) -> None:
    """The child: seal, and serve the session."""
    found = walls.enclose(landlock, own_namespaces=own_namespaces)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies of the worker that end leave no zombie
    # Made before the filter is on, and from the C module: the wrapper asks the kernel for what we know.
    channel = wire.Channel(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, wire.FD))
    session = worker.Worker()
    begin = kind.begin
    if warm and begin is not None:
        session.warm(begin)
        begin = None
    walls.confine(found, program, kind.limits)
    session.serve(channel, found.found, begin)
