"""A call that the host makes for a cell, in a thread that can be abandoned.

Python cannot end a thread from outside. A call that takes too long is abandoned: the host stops waiting, drops its
result, cancels it if it is a coroutine, and its thread does not keep the process from exiting. Abandoned calls are
counted while they run, so that their number can be limited.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from rlm_secure import threads
from rlm_secure.errors import CallFailed
from rlm_secure.forks import at_fork

_current: ContextVar[HostCall | None] = ContextVar("rlm_secure_host_call", default=None)
_lock = threading.Lock()
_abandoned: set[HostCall] = set()


class HostCall:
    """Run `work()` on a daemon thread, in a copy of the caller's context. Starts immediately; one thread may wait.

    `session` and `owner` say whose call it is, for `abandoned`. Raises CallFailed if no thread can be started.
    """

    def __init__(self, work: Callable[[], Any], session: object = None, owner: object = None) -> None:
        self._work = work
        self.session, self.owner = session, owner
        self._context = contextvars.copy_context()
        self._over = threading.Lock()  # released when the call has ended: an Event costs several times as much
        self._over.acquire()
        self._ended = self._left = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._cancel: Callable[[], object] | None = None
        try:
            threads.start(self.run, "rlm-secure-call")
        except RuntimeError:
            raise CallFailed("the host has no thread left for this call; try again later") from None

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`. Returns whether the call has ended."""
        return self._ended or self._over.acquire(timeout=seconds)

    def result(self) -> Any:
        """Return what `work` returned, or raise what it raised (any BaseException)."""
        if self._error is not None:
            raise self._error
        return self._value

    def abandon(self) -> None:
        """Stop waiting for the call, unless it has ended: drop its result and cancel its coroutine."""
        with _lock:
            if self._ended:
                return
            self._left = True
            _abandoned.add(self)
            cancel = self._cancel
        if cancel is not None:
            cancel()

    def run(self) -> None:
        """Run the call in this thread."""
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


def abandoned(session: object, owner: object) -> tuple[int, int, int]:
    """The numbers of abandoned calls that still run: of `session`, of `owner`, and of this process."""
    with _lock:
        own = sum(call.session is session for call in _abandoned)
        return own, sum(call.owner is owner for call in _abandoned), len(_abandoned)


def on_abandon(cancel: Callable[[], object]) -> bool:
    """Register `cancel()` to run when this thread's call is abandoned. Returns whether it already was."""
    call = _current.get()
    if call is None:
        return False
    with _lock:
        call._cancel = cancel
        return call._left


def _forget() -> None:
    # The parent's threads do not exist in a fork, and one of them may have held the lock.
    global _lock
    _lock = threading.Lock()
    _abandoned.clear()


at_fork(after_in_child=_forget)
