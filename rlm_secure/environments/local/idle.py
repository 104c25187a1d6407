"""Work done while a session is idle, so that no caller waits for it: checkpoints, the next session's process.

One thread finds the work that is due and starts a thread for each item: a worker that does not answer delays only its
own session.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from typing import Protocol

from rlm_secure.forks import at_fork

_IDLE_SECONDS = 0.02


class IdleWork(Protocol):
    """What the scheduler needs of a session or a zygote."""

    def while_idle(self) -> None:
        """Do the work, unless a caller is using the object."""
        ...


class IdleScheduler:
    """Calls `while_idle()` of sessions and zygotes that have been idle for 20 ms, each in a thread of its own."""

    def __init__(self) -> None:
        self._due: weakref.WeakKeyDictionary[IdleWork, float] = weakref.WeakKeyDictionary()
        self._busy: weakref.WeakSet[IdleWork] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, work: IdleWork) -> None:
        """Call `work.while_idle()` 20 ms after the last call of this method for it."""
        with self._lock:
            self._due[work] = time.monotonic() + _IDLE_SECONDS
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="rlm_secure-idle", daemon=True)
                with contextlib.suppress(RuntimeError):  # no more threads: nothing is done in advance
                    thread.start()
                    self._thread = thread
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(_IDLE_SECONDS)
            now = time.monotonic()
            with self._lock:
                idle = [work for work, due in self._due.items() if due <= now and work not in self._busy]
                for work in idle:
                    del self._due[work]
                    self._busy.add(work)
                if not self._due:
                    self._wake.clear()
            while idle:  # pop: this thread must keep no session alive
                self._start(idle.pop())

    def _start(self, work: IdleWork) -> None:
        try:
            threading.Thread(target=self._attend, args=(work,), name="rlm_secure-idle-work", daemon=True).start()
        except RuntimeError:  # no more threads: the work is done when it is needed
            with self._lock:
                self._busy.discard(work)

    def _attend(self, work: IdleWork) -> None:
        try:
            work.while_idle()
        finally:
            with self._lock:
                self._busy.discard(work)


_scheduler = IdleScheduler()


def watch(work: IdleWork) -> None:
    """Call `work.while_idle()` 20 ms after the last call of this function for it."""
    _scheduler.watch(work)


def _forget() -> None:
    global _scheduler
    _scheduler = IdleScheduler()


at_fork(after_in_child=_forget)
