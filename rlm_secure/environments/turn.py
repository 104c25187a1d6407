"""Who may use a session: one caller at a time, and no tool that its own cell waits for.

A tool runs while its cell waits for it: if it used the session of that cell, both would wait forever.
Background work of a session (a checkpoint while it is idle, resuming it) has limits of its own; a caller that waits
for it has the caller's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

from rlm_secure.errors import ReentrantCall
from rlm_secure.policy.gate import Gate

#: A thread started while a cell waits for the host is refused after this long: the host's work may wait for it.
_PATIENCE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.05


class Served:
    """One call that a session's cell waits for.

    `active` until its handler has returned; `refused` if the handler reported so by `refuse()`.
    """

    __slots__ = ("active", "refused", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.active = True
        self.refused = False


#: The calls that are being served in this context; inherited by tasks, and by threads that copy the context.
_serving: ContextVar[tuple[Served, ...]] = ContextVar("rlm_secure_serving", default=())


class BackgroundWork:
    """Background work of a session, done by `thread`; `over` is set when it is done."""

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = thread
        self.over = threading.Event()
        self.begun = threading.Lock()  # whoever takes it first, starts the work or cancels it


#: Whether a caller stops waiting; called many times a second. The argument says whether it waits for background work.
GiveUp = Callable[[bool], bool]


class Turn:
    """A session's lock: as threading.RLock, but raises ReentrantCall for a caller that would wait forever.

    Background work goes first: a caller that takes the lock waits until that is done.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._background: BackgroundWork | None = None
        #: The threads that existed when the cell began to wait for the host; None while it does not wait.
        self._before: frozenset[threading.Thread] | None = None

    def check(self) -> None:
        """Raise ReentrantCall if a cell of the session waits for the caller."""
        if serving := _serving.get():
            Gate.reentrant(any(call.active and call.turn is self for call in serving)).require(ReentrantCall)

    @contextmanager
    def waiting(self) -> Iterator[Served]:
        """Mark the block in which the cell waits for the host. Yields the call, for `serve`."""
        self._before = frozenset(threading.enumerate())
        try:
            yield Served(self)
        finally:
            self._before = None

    @property
    def taken(self) -> bool:
        """Whether another thread does background work: it then owns the session, no matter who has the lock."""
        return (background := self._background) is not None and background.thread is not threading.current_thread()

    @property
    def _mine(self) -> bool:
        return (background := self._background) is not None and background.thread is threading.current_thread()

    def acquire(self, blocking: bool = True, give_up: GiveUp | None = None) -> bool:
        """Take the turn; with `blocking=False`, only if it is free. Returns whether it did."""
        self.check()
        if self._background is not None and self._mine:
            return True
        if not self._lock.acquire(blocking=False) and not (blocking and self._outwait(give_up)):
            return False
        if self._background is None:
            return True
        try:
            had = not self.taken or (blocking and self._outwait_background(give_up))
        except BaseException:  # Ctrl-C as well
            self._lock.release()
            raise
        if not had:
            self._lock.release()
        return had

    def _outwait(self, give_up: GiveUp | None) -> bool:
        since = time.monotonic()
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            before = self._before
            if before is None or threading.current_thread() in before:
                since = time.monotonic()
            Gate.reentrant(time.monotonic() - since > _PATIENCE_SECONDS).require(ReentrantCall)
            if give_up is not None and give_up(False):
                return False
        if give_up is not None and give_up(False):  # from here on, only background work can be in the way
            self._lock.release()
            return False
        return True

    def _outwait_background(self, give_up: GiveUp | None) -> bool:
        while (background := self._background) is not None:
            background.over.wait(_LOOK_SECONDS)
            if give_up is not None and give_up(True):
                return False
        return True

    def release(self) -> None:
        """Release the turn."""
        if self._background is None or not self._mine:
            self._lock.release()

    @contextmanager
    def in_background(self) -> Iterator[bool]:
        """Do background work in the block, if the turn is free. Yields whether it is."""
        if not self.acquire(blocking=False):
            yield False
            return
        background = BackgroundWork(threading.current_thread())
        self._background = background
        self._lock.release()  # the next holder waits for this work, not for a cell
        try:
            yield True
        finally:
            self._over(background)

    def pass_on(self, work: Callable[[], None], give_up: Callable[[], bool]) -> bool:
        """Have a background thread do `work`, which raises nothing. Returns whether it is done before `give_up()`.

        The caller has the turn. When it gives up, that thread owns the session, and the caller must not touch it.
        """

        def run() -> None:
            if not background.begun.acquire(blocking=False):
                return  # cancelled: the caller was interrupted, and the turn may be another caller's
            try:
                work()
            finally:
                self._over(background)

        background = BackgroundWork(threading.Thread(target=run, name="rlm_secure-background", daemon=True))
        try:
            self._background = background
            background.thread.start()
        except RuntimeError:  # no more threads: done in this one, however long it takes
            self._over(background)
            work()
            return True
        except BaseException:  # Ctrl-C as well
            if background.begun.acquire(blocking=False):
                self._over(background)
            raise
        while not background.over.wait(_LOOK_SECONDS):
            if give_up():
                return background.over.is_set()
        return True

    def _over(self, background: BackgroundWork) -> None:
        self._background = None
        background.over.set()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def serve(call: Served, work: Callable[[], Any]) -> Any:
    """Run `work()`, for which a cell waits: inside it, the cell's session raises ReentrantCall."""
    token = _serving.set((*_serving.get(), call))
    try:
        return work()
    finally:
        call.active = False
        _serving.reset(token)


def refuse() -> None:
    """Mark the call that is being served here as refused: nothing is done for it.

    The time of such a call counts as its cell's own, and it counts towards `lm.refusals`.
    """
    if serving := _serving.get():
        serving[-1].refused = True
