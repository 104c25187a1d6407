"""The event loops on which runs call models, each in a daemon thread: a new one is made when none is idle.

A tree of runs has a loop to itself, and another has it afterwards. So a client that blocks its loop delays no other
tree, nor the deadline and the stop of one, and a process whose trees run one after another has one loop.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from typing import Final

from rlm_secure.forks import at_fork

#: Most loops that wait for a tree. Each has three file descriptors and a thread.
_MOST_IDLE: Final = 16
#: Longest wait for the thread of a loop that ends, in seconds.
_JOIN: Final = 2.0
_IDLE_NAME: Final = "rlm-secure-loop"

_lock = threading.Lock()
#: The one that was used last is last, and is taken first: its connections and its memory are warm.
_idle: list[RunLoop] = []
#: Those that were idle in the process that this one is a fork of. Closing one here would take its parent's file
#: descriptors from the set that both wait on.
_of_parent: list[RunLoop] = []


class RunLoop:
    """An event loop that runs in a thread of its own until `end()`. Raises RuntimeError if no thread can be started."""

    def __init__(self) -> None:
        self.events = asyncio.new_event_loop()
        self._ending = False
        self._thread = threading.Thread(target=self._serve, name=_IDLE_NAME, daemon=True)
        try:
            self._thread.start()
        except BaseException:  # Ctrl-C as well: nothing would close it
            self._ending = True
            if self._thread.is_alive():
                self.end()
            else:
                self.events.close()
            raise

    @property
    def runs(self) -> bool:
        """Whether the loop can be used: neither `end()` nor a client has ended it."""
        return self._thread.is_alive() and not self.events.is_closed()

    @property
    def here(self) -> bool:
        """Whether this thread is the loop's."""
        return threading.current_thread() is self._thread

    def lend(self, name: str) -> RunLoop:
        """The loop itself, in a thread that is called `name` until it is given back."""
        self._thread.name = name
        return self

    def give_back(self) -> None:
        """Let another tree take the loop, on which no task is left."""
        self._thread.name = _IDLE_NAME
        with _lock:
            kept = len(_idle) < _MOST_IDLE
            if kept:
                _idle.append(self)
        if not kept:
            self.end()

    def end(self) -> None:
        """Close the loop. If something blocks it, that is done when nothing does, and not waited for much longer."""
        self._ending = True
        try:
            self.events.call_soon_threadsafe(self.events.stop)
        except RuntimeError:  # it is closed
            return
        if not self.here:
            self._thread.join(_JOIN)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.events)
        try:
            while not self._ending:
                try:
                    self.events.run_forever()
                except (KeyboardInterrupt, SystemExit):
                    # A client raised it; whoever waits for that call gets it as well, from the loop's next round.
                    continue
        finally:
            self.events.close()


def take(name: str) -> RunLoop:
    """A loop for one tree, in a thread that is called `name` until it is given back."""
    with _lock:
        while _idle:
            if (loop := _idle.pop()).runs:
                return loop.lend(name)
    return RunLoop().lend(name)


def _end_all() -> None:
    with _lock:
        ending, _idle[:] = _idle[:], []
    for loop in ending:
        loop.end()


def _forget() -> None:
    # A fork has none of the threads that run these loops, and one of its parent's threads may have held the lock.
    global _lock
    _lock = threading.Lock()
    _of_parent.extend(_idle)
    _idle.clear()


atexit.register(_end_all)
at_fork(after_in_child=_forget)
