"""Work that is done while a session is idle, so that nobody waits for it: checkpoints, the next session's process.

One thread looks for what is due, and starts a thread for each: a worker that does not answer delays its own session
alone.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Protocol

_IDLE_SECONDS = 0.02


class IdleWork(Protocol):
    """What the scheduler needs of a session or a zygote."""

    def while_idle(self) -> None:
        """Do what is due, unless somebody works."""
        ...


class IdleScheduler:
    """Calls `while_idle()` of what nobody has used for a moment, each in a thread of its own."""

    def __init__(self) -> None:
        self._due: weakref.WeakKeyDictionary[IdleWork, float] = weakref.WeakKeyDictionary()
        self._busy: weakref.WeakSet[IdleWork] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, work: IdleWork) -> None:
        """Call `work.while_idle()` once nobody has asked for that again for a moment."""
        with self._lock:
            self._due[work] = time.monotonic() + _IDLE_SECONDS
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="rlm_secure-idle", daemon=True)
                with contextlib.suppress(RuntimeError):  # a user out of processes: nothing is done ahead
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
            while idle:  # and hold none of them any longer
                self._start(idle.pop())

    def _start(self, work: IdleWork) -> None:
        try:
            threading.Thread(target=self._attend, args=(work,), name="rlm_secure-idle-work", daemon=True).start()
        except RuntimeError:  # no more threads: what could be done ahead is done when it is needed
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
    """Call `work.while_idle()` once nobody has asked for that again for a moment."""
    _scheduler.watch(work)


def _forget() -> None:
    global _scheduler
    _scheduler = IdleScheduler()


os.register_at_fork(after_in_child=_forget)
