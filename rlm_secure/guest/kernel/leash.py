"""A leash: two sockets, by which who may not signal a process stops it and lets it go on.

They are a pair, and both are owned by the process (F_SETOWN, O_ASYNC): what one of them is told raises a signal there,
SIGSTOP (F_SETSIG) on the first, SIGCONT on the second. The kernel asks whether who named the owner may signal it. That
is the zygote, of the worker's uid, which gives the pair to the supervisor, of another. Whoever holds it sends these two
signals to this one process, and nothing to any other: who names another owner needs the right to. Source: fcntl(2),
"Managing signals".

Sockets for datagrams: when one of them is closed, by the end of its process as well, the other is told nothing.

Guards: that who holds a leash can stop a worker and let it go on, and do nothing else to it
"""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import os
import signal

_SIGNALS = (signal.SIGSTOP, signal.SIGCONT)


def attach(pid: int) -> tuple[int, ...]:
    """The two ends of a leash on a process of one's own user; none where the kernel has no such, or no room."""
    try:
        pair = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    except OSError:
        return ()
    ends = tuple(each.detach() for each in pair)
    try:
        for end, number in zip(ends, _SIGNALS, strict=True):
            fcntl.fcntl(end, fcntl.F_SETOWN, pid)
            fcntl.fcntl(end, fcntl.F_SETSIG, number)
            fcntl.fcntl(end, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
    except OSError:
        for end in ends:
            os.close(end)
        return ()
    return ends


class Leash:
    """The holder's side. What it sends nobody confirms: link.py looks at what has come of it."""

    def __init__(self, stops: int, continues: int) -> None:
        # What is written to an end is told to the other.
        self._ends: dict[int, int] = dict(zip(_SIGNALS, (continues, stops), strict=True))
        for end in self._ends.values():
            os.set_blocking(end, False)

    def send(self, number: int) -> None:
        """Send SIGSTOP or SIGCONT. Raises OSError, and KeyError for another signal."""
        end = self._ends[number]
        with contextlib.suppress(BlockingIOError):
            os.read(end, 1)  # what the other was told last: there is room for a few words only
        os.write(end, b"\0")

    def close(self) -> None:
        """Let go of it. The process stays as it is. Idempotent."""
        while self._ends:
            os.close(self._ends.popitem()[1])
