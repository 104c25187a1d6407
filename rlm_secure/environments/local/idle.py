"""What can be done ahead, so that nobody waits for it: checkpoints, the next session's process.

One thread looks who is due, and starts one for each: what a session's worker does not answer delays that session alone.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Protocol

_IDLE_SECONDS = 0.02


class Keepable(Protocol):
    """What the keeper needs of a session or a zygote."""

    def while_idle(self) -> None:
        """Do what is due, unless somebody works."""
        ...


class _Keeper:
    def __init__(self) -> None:
        self._due: weakref.WeakKeyDictionary[Keepable, float] = weakref.WeakKeyDictionary()
        self._busy: weakref.WeakSet[Keepable] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, kept: Keepable) -> None:
        with self._lock:
            self._due[kept] = time.monotonic() + _IDLE_SECONDS
            if self._thread is None:
                thread = threading.Thread(target=self._keep, name="rlm_secure-keeper", daemon=True)
                with contextlib.suppress(RuntimeError):  # a user out of processes: nothing is done ahead
                    thread.start()
                    self._thread = thread
        if not self._wake.is_set():
            self._wake.set()

    def _keep(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(_IDLE_SECONDS)
            now = time.monotonic()
            with self._lock:
                idle = [kept for kept, due in self._due.items() if due <= now and kept not in self._busy]
                for kept in idle:
                    del self._due[kept]
                    self._busy.add(kept)
                if not self._due:
                    self._wake.clear()
            while idle:  # and hold none of them any longer
                self._start(idle.pop())

    def _start(self, kept: Keepable) -> None:
        try:
            threading.Thread(target=self._attend, args=(kept,), name="rlm_secure-kept", daemon=True).start()
        except RuntimeError:  # no more threads: what could be done ahead is done when it is needed
            with self._lock:
                self._busy.discard(kept)

    def _attend(self, kept: Keepable) -> None:
        try:
            kept.while_idle()
        finally:
            with self._lock:
                self._busy.discard(kept)


_keeper = _Keeper()


def watch(kept: Keepable) -> None:
    """Call `kept.while_idle()` once nobody has asked for that again for a moment."""
    _keeper.watch(kept)


def _forget() -> None:
    global _keeper
    _keeper = _Keeper()


os.register_at_fork(after_in_child=_forget)
