"""Daemon threads that are used again: starting one takes longer than a short call in it.

A thread has one piece of work at a time, for as long as that takes, so work that blocks holds up no other. How many
work at the same time is limited by whoever gives them work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from rlm_secure.forks import at_fork

#: Most threads that wait for work, and how long one waits, in seconds.
_MOST_IDLE: Final = 32
_IDLE_SECONDS: Final = 10.0
_IDLE_NAME: Final = "rlm-secure-idle"

_lock = threading.Lock()
#: The one that has waited for the shortest time is last, and is used first.
_idle: list[_Thread] = []


def start(work: Callable[[], object], name: str) -> None:
    """Run `work`, which raises nothing, in a thread that is called `name` meanwhile; context variables are not its
    caller's. Raises RuntimeError if there is no idle thread and no further one can be started."""
    with _lock:
        thread = _idle.pop() if _idle else None
    if thread is None:
        thread = _Thread()
        thread.give(work, name)
        thread.start()
    else:
        thread.give(work, name)


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name=_IDLE_NAME, daemon=True)
        self._work: Callable[[], object] | None = None
        self._given = threading.Lock()  # released when there is work: a Semaphore costs several times as much
        self._given.acquire()

    def give(self, work: Callable[[], object], name: str) -> None:
        self._work, self.name = work, name
        self._given.release()

    def run(self) -> None:
        while self._has_work():
            work, self._work = self._work, None
            assert work is not None
            work()
            del work  # what it holds may be large, and its owner may wait for its end
            self.name = _IDLE_NAME
            with _lock:
                if len(_idle) >= _MOST_IDLE:
                    return
                _idle.append(self)

    def _has_work(self) -> bool:
        if self._given.acquire(timeout=_IDLE_SECONDS):
            return True
        with _lock:
            if self in _idle:
                _idle.remove(self)
                return False
        return self._given.acquire()  # it was taken at the last moment


def _forget() -> None:
    # A fork has none of its parent's threads, and one of them may have held the lock.
    global _lock
    _lock = threading.Lock()
    _idle.clear()


at_fork(after_in_child=_forget)
