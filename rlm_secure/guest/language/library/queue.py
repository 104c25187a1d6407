"""queue, for one thread: what would wait forever raises RuntimeError."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

__all__ = ["Empty", "Full", "LifoQueue", "PriorityQueue", "Queue", "SimpleQueue"]
LEFT_OUT = {"ShutDown": "a queue of one thread is not shut down"}

_ALONE = "nothing else runs in a cell, so this would wait forever; use get_nowait() or put_nowait(), or ask empty()"


class Empty(Exception):
    "Exception raised by Queue.get(block=0)/get_nowait()."


class Full(Exception):
    "Exception raised by Queue.put(block=0)/put_nowait()."


class Queue:
    """First in, first out."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self.unfinished_tasks = 0
        self._init(maxsize)

    def _init(self, maxsize: int) -> None:
        self.queue: Any = deque()

    def _qsize(self) -> int:
        return len(self.queue)

    def _put(self, item: Any) -> None:
        self.queue.append(item)

    def _get(self) -> Any:
        return self.queue.popleft()

    def qsize(self) -> int:
        return self._qsize()

    def empty(self) -> bool:
        return not self._qsize()

    def full(self) -> bool:
        return 0 < self.maxsize <= self._qsize()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        if self.full():
            _refuse_to_wait(block, timeout, Full)
        self._put(item)
        self.unfinished_tasks += 1

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._qsize():
            _refuse_to_wait(block, timeout, Empty)
        return self._get()

    def put_nowait(self, item: Any) -> None:
        self.put(item, False)

    def get_nowait(self) -> Any:
        return self.get(False)

    def task_done(self) -> None:
        if self.unfinished_tasks <= 0:
            raise ValueError("task_done() called too many times")
        self.unfinished_tasks -= 1

    def join(self) -> None:
        if self.unfinished_tasks:
            raise RuntimeError(f"{self.unfinished_tasks} tasks are not done, and {_ALONE}")


class LifoQueue(Queue):
    """Last in, first out."""

    def _init(self, maxsize: int) -> None:
        self.queue = []

    def _get(self) -> Any:
        return self.queue.pop()


class PriorityQueue(Queue):
    """Lowest first."""

    def _init(self, maxsize: int) -> None:
        self.queue = []

    def _put(self, item: Any) -> None:
        heapq.heappush(self.queue, item)

    def _get(self) -> Any:
        return heapq.heappop(self.queue)


class SimpleQueue:
    """First in, first out, without a limit."""

    def __init__(self) -> None:
        self._items: Any = deque()

    def qsize(self) -> int:
        return len(self._items)

    def empty(self) -> bool:
        return not self._items

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self._items.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if not self._items:
            _refuse_to_wait(block, timeout, Empty)
        return self._items.popleft()

    def put_nowait(self, item: Any) -> None:
        self._items.append(item)

    def get_nowait(self) -> Any:
        return self.get(False)


def _refuse_to_wait(block: bool, timeout: float | None, kind: type[Exception]) -> None:
    if not block or timeout is not None:  # nothing can change while it waits
        raise kind
    raise RuntimeError(_ALONE)
