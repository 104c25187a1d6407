"""A leash: two sockets that let a process stop and continue another one which it has no permission to signal.

The sockets are a connected pair. Both are owned by the target process (F_SETOWN, O_ASYNC), so that data arriving on one
of them sends it a signal: SIGSTOP on the first, SIGCONT on the second (F_SETSIG). The kernel checks whether the process
that set the owner may signal the target. That is the zygote, which has the worker's uid; it then passes the pair to the
supervisor, which has another uid. The holder can send these two signals to this one process and to no other, because
setting another owner needs the permission to signal it. Source: fcntl(2), "Managing signals".

They are datagram sockets: closing one, also by the end of its process, does not send anything to the other.

Guards: that the holder of a leash can stop a worker and continue it, and do nothing else to it
"""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import os
import signal

_SIGNALS = (signal.SIGSTOP, signal.SIGCONT)


def attach(pid: int) -> tuple[int, ...]:
    """Both ends of a new leash on a process of the caller's user; empty where the kernel cannot create one."""
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
    """The holder's side of a leash. Signals are not confirmed: worker_link.py checks whether they had an effect."""

    def __init__(self, stops: int, continues: int) -> None:
        # What is written to one end arrives at the other.
        self._ends: dict[int, int] = dict(zip(_SIGNALS, (continues, stops), strict=True))
        for end in self._ends.values():
            os.set_blocking(end, False)

    def send(self, number: int) -> None:
        """Send SIGSTOP or SIGCONT. Raises OSError, and KeyError for another signal."""
        end = self._ends[number]
        with contextlib.suppress(BlockingIOError):
            os.read(end, 1)  # discard the last message from the other end: the buffer only holds a few
        os.write(end, b"\0")

    def close(self) -> None:
        """Close both ends. The process stays stopped or running, as it is. Idempotent."""
        while self._ends:
            os.close(self._ends.popitem()[1])
