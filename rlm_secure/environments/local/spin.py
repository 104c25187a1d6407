"""How the host waits for a short cell: it looks for the answer for a moment before it sleeps.

To sleep and to be woken takes as long as such a cell: a warm one took 0.14 ms where the host slept at once, 0.10 ms
where it did not, and 0.22 and 0.16 ms on another machine (two virtual processors each, CPython 3.11). Meanwhile the
host uses a processor, so it looks only for a session whose last answer came that fast, while no other session is asked
for anything, and where the worker has a processor beside the host's.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable

#: The longest look, in seconds: an answer takes 0.04 to 0.12 ms, of which the worker's waking up is up to a third. To
#: wake up from a shorter sleep would take the host about as long.
SECONDS = 0.0002


class Spin:
    """Whether the next answer of one worker is worth a look."""

    __slots__ = ("_pays",)

    def __init__(self) -> None:
        self._pays = False

    def wait(self, connection: socket.socket) -> float:
        """Return at once, or when there is something to read, or when it is time to sleep.

        Returns the time.monotonic() of the call.
        """
        global _latest
        began = time.monotonic()
        if _latest is not self:
            _latest = self
        elif self._pays:
            ready = _readable(connection)
            while _latest is self and time.monotonic() - began < SECONDS and not ready(0):
                pass
        return began

    def learn(self, seconds: float) -> None:
        """Note how long the answer took."""
        if (seconds < SECONDS) is not self._pays:
            self._pays = seconds < SECONDS and len(os.sched_getaffinity(0)) > 1


def _readable(connection: socket.socket) -> Callable[[int], object]:
    # A new object each time: a signal handler may use the session that it has interrupted here.
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return poll.poll


#: Of the worker that was asked last, in any thread.
_latest: Spin | None = None
