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
from typing import Any, Final

from rlm_secure.errors import CallFailed

#: A thread that has served a call waits so long for the next one: starting one takes as long as a small cell.
_IDLE_SECONDS: Final = 10.0

_current: ContextVar[HostCall | None] = ContextVar("rlm_secure_host_call", default=None)
_lock = threading.Lock()
_abandoned: set[HostCall] = set()
_idle: list[_Thread] = []


class HostCall:
    """`work()` on a daemon thread, in a copy of the caller's context. Begins at once. For one thread that waits.

    `session` and `owner` say whose call it is, for `abandoned`. Raises CallFailed where the process has no thread for
    it.
    """

    def __init__(self, work: Callable[[], Any], session: object = None, owner: object = None) -> None:
        self._work = work
        self.session, self.owner = session, owner
        self._context = contextvars.copy_context()
        self._over = threading.Lock()  # released when it is over: an Event costs several times as much
        self._over.acquire()
        self._ended = self._left = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._cancel: Callable[[], object] | None = None
        with _lock:
            thread = _idle.pop() if _idle else None
        if thread is None:
            thread = _Thread()
        thread.serve(self)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most that long."""
        return self._ended or self._over.acquire(timeout=seconds)

    def result(self) -> Any:
        """What `work` returned, or raises what it raised, whatever that is."""
        if self._error is not None:
            raise self._error
        return self._value

    def abandon(self) -> None:
        """Leave it behind, unless it has ended."""
        with _lock:
            if self._ended:
                return
            self._left = True
            _abandoned.add(self)
            cancel = self._cancel
        if cancel is not None:
            cancel()

    def run(self) -> None:
        """Do it, in this thread."""
        self._context.run(self._run)

    def _run(self) -> None:
        _current.set(self)
        value, error = None, None
        try:
            value = self._work()
        except BaseException as raised:  # noqa: BLE001 - raised again in the thread that waits
            error = raised
        with _lock:
            _abandoned.discard(self)
            if not self._left:
                self._value, self._error = value, error
            self._ended = True
        self._over.release()


class _Thread:
    """A daemon thread that serves one call after another."""

    def __init__(self) -> None:
        self._call: HostCall | None = None
        self._given = threading.Lock()
        self._given.acquire()
        try:
            threading.Thread(target=self._run, name="rlm-secure-call", daemon=True).start()
        except RuntimeError:
            raise CallFailed("the host has no thread left for this call; try again later") from None

    def serve(self, call: HostCall) -> None:
        self._call = call
        self._given.release()

    def _run(self) -> None:
        while True:
            if not self._given.acquire(timeout=_IDLE_SECONDS):
                with _lock:
                    if self in _idle:
                        _idle.remove(self)
                        return
                continue  # it was taken in this moment
            call, self._call = self._call, None
            if call is not None:
                call.run()
            del call  # nobody keeps what it was about
            with _lock:
                _idle.append(self)


def abandoned(session: object, owner: object) -> tuple[int, int, int]:
    """How many calls of `session`, of `owner`, and of this process, were left behind and still run."""
    with _lock:
        own = sum(call.session is session for call in _abandoned)
        return own, sum(call.owner is owner for call in _abandoned), len(_abandoned)


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
    _idle.clear()


os.register_at_fork(after_in_child=_forget)
