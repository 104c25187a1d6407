"""threading, for the one thread that a cell has: `start()` runs the target to its end, one thread after the other.

What would wait forever raises RuntimeError.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

__all__ = [
    "TIMEOUT_MAX",
    "BoundedSemaphore",
    "Condition",
    "Event",
    "Lock",
    "RLock",
    "Semaphore",
    "Thread", "ThreadError",
    "active_count",
    "current_thread",
    "enumerate",
    "get_ident",
    "get_native_id",
    "local",
    "main_thread",
]  # fmt: skip
LEFT_OUT = {
    "Timer Barrier BrokenBarrierError": "a cell has one thread; call the function itself",
    "ExceptHookArgs excepthook gettrace getprofile setprofile settrace stack_size setprofile_all_threads "
    "settrace_all_threads": "it is about threads, and a cell has one",
}

TIMEOUT_MAX = 9223372036.0
ThreadError = RuntimeError
_ALONE = "a cell has one thread, so this would wait forever"


class Lock:
    _again = False

    def __init__(self) -> None:
        self._held = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._held and not self._again:
            if not blocking or timeout >= 0:
                return False
            raise RuntimeError(f"{_ALONE}: the lock is already held")
        self._held += 1
        return True

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock" if not self._again else "cannot release un-acquired lock")
        self._held -= 1

    def locked(self) -> bool:
        return self._held > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *details: object) -> None:
        self.release()


class RLock(Lock):
    _again = True


class Semaphore:
    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        self._value = value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not self._value:
            if not blocking or timeout is not None:
                return False
            raise RuntimeError(f"{_ALONE}: the semaphore is at 0")
        self._value -= 1
        return True

    def release(self, n: int = 1) -> None:
        if n < 1:
            raise ValueError("n must be one or more")
        self._value += n

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *details: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._most = value

    def release(self, n: int = 1) -> None:
        if self._value + n > self._most:
            raise ValueError("Semaphore released too many times")
        super().release(n)


class Event:
    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set and timeout is None:
            raise RuntimeError(f"{_ALONE}: nobody sets the event")
        return self._set


class Condition:
    def __init__(self, lock: Any = None) -> None:
        self._lock = RLock() if lock is None else lock
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> Any:
        return self._lock.__enter__()

    def __exit__(self, *details: object) -> None:
        self._lock.__exit__(*details)

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            raise RuntimeError(f"{_ALONE}: nobody notifies")
        return False

    def wait_for(self, predicate: Any, timeout: float | None = None) -> Any:
        return predicate() or self.wait(timeout)

    def notify(self, n: int = 1) -> None:
        pass

    def notify_all(self) -> None:
        pass


class local:
    pass


class Thread:
    """A function that start() runs at once. llm_query_batched asks many prompts side by side."""

    _count = 0

    def __init__(
        self, group: None = None, target: Any = None, name: str | None = None, args: Any = (), kwargs: Any = None, *,
        daemon: bool | None = None,
    ) -> None:  # fmt: skip
        Thread._count += 1
        self.name = name or f"Thread-{Thread._count}" + (f" ({target.__name__})" if hasattr(target, "__name__") else "")
        self.daemon = bool(daemon)
        self.ident: Any = None
        self._target, self._args, self._kwargs = target, args, kwargs or {}

    def run(self) -> None:
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def start(self) -> None:
        if self.ident is not None:
            raise RuntimeError("threads can only be started once")
        self.ident = Thread._count + 1
        _running.append(self)
        try:
            self.run()
        except SystemExit:
            pass
        except Exception:
            sys.stderr.write(f"Exception in thread {self.name}:\n{traceback.format_exc()}")
        finally:
            _running.pop()

    def join(self, timeout: float | None = None) -> None:
        if self.ident is None:
            raise RuntimeError("cannot join thread before it is started")

    def is_alive(self) -> bool:
        return any(each is self for each in _running)


_running: list[Any] = []


class _MainThread:
    name, ident, native_id, daemon = "MainThread", 1, 1, False

    def is_alive(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "<_MainThread(MainThread, started 1)>"


_MAIN = _MainThread()


def current_thread() -> Any:
    return _running[-1] if _running else _MAIN


def main_thread() -> Any:
    return _MAIN


def active_count() -> int:
    return 1


def enumerate() -> list[Any]:
    return [_MAIN]


def get_ident() -> int:
    return 1


def get_native_id() -> int:
    return 1
