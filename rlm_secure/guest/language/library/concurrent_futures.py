"""concurrent.futures without threads: submit() runs the call at once, one after the other."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "ALL_COMPLETED",
    "FIRST_COMPLETED",
    "FIRST_EXCEPTION",
    "CancelledError",
    "Executor",
    "Future",
    "InvalidStateError",
    "ThreadPoolExecutor",
    "TimeoutError",
    "as_completed",
    "wait",
]  # fmt: skip
LEFT_OUT = {
    "ProcessPoolExecutor InterpreterPoolExecutor": "a cell starts no processes; ThreadPoolExecutor runs the calls one "
    "after the other, and llm_query_batched asks many prompts at once",
    "BrokenExecutor": "no thread can break here",
}

FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED = "FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"
TimeoutError = TimeoutError


class CancelledError(Exception):
    pass


class InvalidStateError(Exception):
    pass


class Future:
    def __init__(self) -> None:
        self._state = "PENDING"
        self._value: Any = None
        self._error: Any = None
        self._callbacks: list[Any] = []

    def _finish(self, state: str) -> None:
        self._state = state
        for each in self._callbacks:
            each(self)

    def done(self) -> bool:
        return self._state != "PENDING"

    def running(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return self._state == "CANCELLED"

    def cancel(self) -> bool:
        if not self.done():
            self._finish("CANCELLED")
        return self.cancelled()

    def result(self, timeout: float | None = None) -> Any:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._value

    def exception(self, timeout: float | None = None) -> Any:
        if self.cancelled():
            raise CancelledError
        if not self.done():
            if timeout is not None:
                raise TimeoutError
            raise RuntimeError("nothing else runs in a cell, so this future would wait forever")
        return self._error

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        if self.done():
            fn(self)
        else:
            self._callbacks.append(fn)

    def set_running_or_notify_cancel(self) -> bool:
        return not self.cancelled()

    def set_result(self, result: Any) -> None:
        self._unset()
        self._value = result
        self._finish("FINISHED")

    def set_exception(self, exception: Any) -> None:
        self._unset()
        self._error = exception
        self._finish("FINISHED")

    def _unset(self) -> None:
        if self.done():
            raise InvalidStateError(f"{self._state}: {self!r}")

    def __repr__(self) -> str:
        return f"<Future at {hex(id(self))} state={self._state.lower()}>"


class Executor:
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        made = Future()
        try:
            value = fn(*args, **kwargs)
        except Exception as error:
            made.set_exception(error)
        else:
            made.set_result(value)
        return made

    def map(
        self, fn: Callable[..., Any], *iterables: Any, timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        made = [self.submit(fn, *each) for each in zip(*iterables, strict=False)]
        return (each.result() for each in made)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: object) -> None:
        self.shutdown()


class ThreadPoolExecutor(Executor):
    def __init__(
        self, max_workers: int | None = None, thread_name_prefix: str = "", initializer: Any = None, initargs: Any = ()
    ) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._shutdown = False
        if initializer is not None:
            initializer(*initargs)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shutdown = True


def as_completed(fs: Any, timeout: float | None = None) -> Iterator[Future]:
    return iter(list(dict.fromkeys(fs)))


DoneAndNotDoneFutures = namedtuple("DoneAndNotDoneFutures", "done not_done")


def wait(fs: Any, timeout: float | None = None, return_when: str = ALL_COMPLETED) -> Any:
    fs = set(fs)
    done = {each for each in fs if each.done()}
    return DoneAndNotDoneFutures(done, fs - done)
