"""One daemon thread that takes the checkpoints of idle sessions, so that no cell waits for them."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

_IDLE_SECONDS = 0.02


class Keepable(Protocol):
    """What the keeper needs of a session."""

    def checkpoint_if_idle(self) -> None:
        """Take a checkpoint, unless a cell runs."""
        ...


class _Keeper:
    def __init__(self) -> None:
        self._due: weakref.WeakKeyDictionary[Keepable, float] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, session: Keepable) -> None:
        with self._lock:
            self._due[session] = time.monotonic() + _IDLE_SECONDS
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="rlm_secure-keeper", daemon=True)
                self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def _keep(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(_IDLE_SECONDS)
            now = time.monotonic()
            with self._lock:
                idle = [session for session, due in self._due.items() if due <= now]
                for session in idle:
                    del self._due[session]
                if not self._due:
                    self._wake.clear()
            for session in idle:
                session.checkpoint_if_idle()
            del idle


_keeper = _Keeper()


def watch(session: Keepable) -> None:
    """Take a checkpoint of `session` once it has been idle for a moment."""
    _keeper.watch(session)


def _forget() -> None:
    global _keeper
    _keeper = _Keeper()


os.register_at_fork(after_in_child=_forget)
