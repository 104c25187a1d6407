"""Who may use a session: the process that made it, one caller at a time, and nobody whom its cell waits for.

A fork shares the sockets of its parent: two processes that read answers from one of them would take each other's.
A tool runs while its cell waits for it: where it used the session of that cell, both would wait for ever.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

from rlm_secure.errors import ReentrantCall, WrongProcess
from rlm_secure.policy.gate import Gate

#: A thread that began while a cell waits for the host is refused after so long: what the host does may wait for it.
_PATIENCE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.05


class Owned:
    """Belongs to the process that made it: elsewhere every public method and property raises WrongProcess.

    Leaving a `with` block in a fork because of an exception lets that exception go on.
    """

    _owner: int

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._owner = os.getpid()
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__enter__", "__exit__"):
                continue
            if isinstance(value, property):
                setattr(cls, name, property(_checked(value.fget, "_check_process"), doc=value.__doc__))
            elif inspect.isfunction(value):
                setattr(cls, name, _checked(value, "_check"))

    def _check_process(self) -> None:
        Gate.process(self._owner).require(WrongProcess)

    def _check(self) -> None:
        """Raise where a method may not be called from here."""
        self._check_process()


def _checked(function: Any, check: str) -> Any:
    leaving = function.__name__ == "__exit__"

    @functools.wraps(function)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if leaving and args and args[0] is not None and os.getpid() != self._owner:
            return None
        getattr(self, check)()
        return function(self, *args, **kwargs)

    return checked


class Served:
    """One call that a session's cell waits for. `active` until whatever serves it has returned."""

    __slots__ = ("active", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.active = True


#: The calls that are being served in this context; tasks, and threads that copy the context, are in them as well.
_serving: ContextVar[tuple[Served, ...]] = ContextVar("rlm_secure_serving", default=())


class Turn:
    """A session's lock: as threading.RLock, but refuses who would wait for ever. Raises ReentrantCall."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        #: The threads that lived when the cell began to wait for the host; None while it does not.
        self._before: frozenset[threading.Thread] | None = None

    def check(self) -> None:
        """Raise ReentrantCall where a cell of the session waits for the caller."""
        if serving := _serving.get():
            Gate.reentrant(any(call.active and call.turn is self for call in serving)).require(ReentrantCall)

    @contextmanager
    def waiting(self) -> Iterator[Served]:
        """The cell waits for the host, in the block. Gives the call, for `serve`."""
        self._before = frozenset(threading.enumerate())
        try:
            yield Served(self)
        finally:
            self._before = None

    def acquire(self, blocking: bool = True) -> bool:
        """Take the turn; with `blocking=False`, only where it is free. Returns whether it did."""
        self.check()
        if self._lock.acquire(blocking=False):
            return True
        since = time.monotonic()
        while blocking:
            if self._lock.acquire(timeout=_LOOK_SECONDS):
                return True
            before = self._before
            if before is None or threading.current_thread() in before:
                since = time.monotonic()
            Gate.reentrant(time.monotonic() - since > _PATIENCE_SECONDS).require(ReentrantCall)
        return False

    def release(self) -> None:
        """Give the turn back."""
        self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def serve(call: Served, work: Callable[[], Any]) -> Any:
    """`work()`, as what a cell waits for: in there, its session refuses to be used."""
    token = _serving.set((*_serving.get(), call))
    try:
        return work()
    finally:
        call.active = False
        _serving.reset(token)
