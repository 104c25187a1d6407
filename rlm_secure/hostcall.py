"""A call of the host's for a cell, in a thread that can be left behind.

Python ends no thread from outside. A call that takes too long is abandoned: nobody waits for it, what it returns is
dropped, its coroutine is cancelled where it is one, and it does not keep the process from ending. It is counted for
as long as it runs, so that there are never many.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_current: ContextVar[HostCall | None] = ContextVar("rlm_secure_host_call", default=None)
_lock = threading.Lock()
_abandoned: set[HostCall] = set()


class HostCall:
    """`work()` on a daemon thread of its own, in a copy of the caller's context. Begins at once."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._cancel: Callable[[], object] | None = None
        self._left = False
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), name="rlm-secure-call", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most that long."""
        return self._done.wait(seconds)

    def result(self) -> Any:
        """What `work` returned, or raises what it raised, whatever that is."""
        if self._error is not None:
            raise self._error
        return self._value

    def abandon(self) -> None:
        """Leave it behind, unless it has ended."""
        with _lock:
            if self._done.is_set():
                return
            self._left = True
            _abandoned.add(self)
            cancel = self._cancel
        if cancel is not None:
            cancel()

    def _run(self) -> None:
        _current.set(self)
        try:
            self._value = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._error = error
        with _lock:
            _abandoned.discard(self)
            if self._left:
                self._value = self._error = None
            self._done.set()


def abandoned() -> int:
    """How many calls of this process were left behind and still run."""
    with _lock:
        return len(_abandoned)


def on_abandon(cancel: Callable[[], object]) -> bool:
    """Have `cancel()` called when the call that this thread serves is abandoned. Returns whether that has happened."""
    call = _current.get()
    if call is None:
        return False
    with _lock:
        call._cancel = cancel
        return call._left


def _forget() -> None:
    # The threads of a fork's parent do not run in the fork, and one of them may have held the lock.
    global _lock
    _lock = threading.Lock()
    _abandoned.clear()


os.register_at_fork(after_in_child=_forget)
