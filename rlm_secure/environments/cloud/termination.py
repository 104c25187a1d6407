"""What SIGTERM does in a process that has sandboxes in a cloud: they are ended, and then the process ends by it.

Without that, a sandbox of a host that a service manager ends would cost money until nobody has renewed it for minutes.
A handler that somebody else has set is left alone, and one that is set later replaces this one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from types import FrameType
from typing import Final, Protocol

#: How long the end of the process waits for that of its sandboxes; service managers wait for 10 s and more.
_SECONDS: Final = 8.0


class Closable(Protocol):
    """What is ended."""

    def close(self) -> None:
        """End it."""


def end_by_sigterm(leases: Callable[[], Collection[Closable]]) -> None:
    """Have SIGTERM end `leases()` first, where it has no handler. Only the main thread can: elsewhere, do nothing."""
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    owner = os.getpid()
    until: list[float] = []  # of the first signal: others make it no longer

    def end(number: int, _: FrameType | None) -> None:
        until.append(time.monotonic() + _SECONDS)
        try:
            if os.getpid() == owner:  # a fork has none of them
                # In threads: what the signal interrupted may hold a lock that one of them needs.
                threads = [threading.Thread(target=each.close, daemon=True) for each in leases()]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join(max(until[0] - time.monotonic(), 0.0))
        finally:  # also where no thread can be started
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, end)
