"""How many children of a tree run at the same time, and in which threads."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from rlm_secure.errors import CancellationError

#: Seconds between two checks whether waiting for a helper thread is still useful.
_LOOK: Final = 0.5

T = TypeVar("T")
R = TypeVar("R")


class ChildSlots:
    """Slots for `width` children of a tree. `overdue` says when to stop waiting for them.

    A run that waits for its children is idle, so its own thread runs children too. That leaves
    `width - 1` slots for helper threads, and a tree of any depth makes progress even with a width of one.
    """

    def __init__(self, width: int, overdue: Callable[[], bool] = bool) -> None:
        self._width = width
        self._overdue = overdue
        self._free = width - 1
        self._closed = False
        self._helpers: set[threading.Thread] = set()
        self._changed = threading.Condition()

    @property
    def busy(self) -> bool:
        """Whether any helper thread is running."""
        with self._changed:
            return bool(self._helpers)

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call `work` on every item, in parallel as slots allow. Returns the results in order.

        Raises the first exception of `work` after the items already started have ended; KeyboardInterrupt in the
        calling thread is raised immediately. Raises CancellationError if helper threads are still running when the
        tree is overdue: they are abandoned.
        """
        batch = _Batch(work, items)
        helpers: list[threading.Thread] = []
        try:
            for _ in range(min(len(items), self._width) - 1):
                try:
                    helpers.append(self._start(batch))
                except RuntimeError:  # no further thread can be started: those that run take all items
                    break
            while batch.step():
                batch.raise_interrupt()
        finally:
            batch.close()
            with self._changed:
                self._changed.notify_all()
        for helper in helpers:
            while helper.is_alive() and not self._overdue():
                helper.join(_LOOK)
        return batch.results()

    def close(self) -> None:
        """Start nothing new in a helper thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for helper threads, for at most `seconds` in total."""
        end = time.monotonic() + seconds
        with self._changed:
            helpers = tuple(self._helpers)
        for helper in helpers:
            helper.join(max(0.0, end - time.monotonic()))

    def _start(self, batch: _Batch[T, R]) -> threading.Thread:
        context = contextvars.copy_context()
        helper = threading.Thread(target=context.run, args=(self._help, batch), name="rlm-secure-child", daemon=True)
        with self._changed:
            self._helpers.add(helper)
        try:
            helper.start()
        except BaseException:  # Ctrl-C as well: nobody can wait for a thread that never ran
            with self._changed:
                self._helpers.discard(helper)
            raise
        return helper

    def _help(self, batch: _Batch[T, R]) -> None:
        try:
            while self._take(batch):
                try:
                    batch.step()
                finally:
                    with self._changed:
                        self._free += 1
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._helpers.discard(threading.current_thread())

    def _take(self, batch: _Batch[T, R]) -> bool:
        with self._changed:
            while batch.waiting and not self._closed and not self._free:
                self._changed.wait()
            if self._closed or not batch.waiting:
                return False
            self._free -= 1
            return True


class _Batch(Generic[T, R]):
    """The items of one map() and their results."""

    def __init__(self, work: Callable[[T], R], items: Sequence[T]) -> None:
        self._work = work
        self._items = items
        self._next = 0
        self._end = len(items)
        self._results: dict[int, R] = {}
        self._failure: BaseException | None = None
        self._lock = threading.Lock()

    @property
    def waiting(self) -> bool:
        return self._next < self._end

    def step(self) -> bool:
        """Process the next item; False when there is none. Only the first failure is kept."""
        with self._lock:
            if not self.waiting:
                return False
            index = self._next
            self._next += 1
        try:
            self._results[index] = self._work(self._items[index])
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            with self._lock:
                self._failure = self._failure or error
            self.close()
        return True

    def raise_interrupt(self) -> None:
        """Raise a KeyboardInterrupt or SystemExit immediately, without waiting for the rest."""
        if self._failure is not None and not isinstance(self._failure, Exception):
            raise self._failure

    def close(self) -> None:
        with self._lock:
            self._end = min(self._end, self._next)

    def results(self) -> list[R]:
        if self._failure is not None:
            raise self._failure
        if len(self._results) < len(self._items):
            raise CancellationError(None, "Execution cancelled: what ran beside it did not end with its run")
        return [self._results[index] for index in range(len(self._items))]
