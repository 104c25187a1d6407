"""asyncio for one thread and no sockets: tasks take turns at `await`, and sleep in real time.

What a cell awaits of llm_query and of tools answers at once; llm_query_batched asks many prompts side by side.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any

__all__ = [
    "ALL_COMPLETED",
    "FIRST_COMPLETED",
    "FIRST_EXCEPTION",
    "AbstractEventLoop",
    "BoundedSemaphore",
    "CancelledError",
    "Condition",
    "Event",
    "Future",
    "InvalidStateError",
    "LifoQueue",
    "Lock",
    "PriorityQueue",
    "Queue",
    "QueueEmpty",
    "QueueFull",
    "Runner",
    "Semaphore",
    "Task",
    "TaskGroup",
    "Timeout",
    "TimeoutError",
    "all_tasks",
    "as_completed",
    "create_task",
    "current_task",
    "ensure_future",
    "gather",
    "get_event_loop",
    "get_running_loop",
    "iscoroutine",
    "iscoroutinefunction",
    "isfuture",
    "new_event_loop",
    "run",
    "set_event_loop",
    "shield",
    "sleep",
    "timeout",
    "timeout_at",
    "to_thread",
    "wait",
    "wait_for",
    "wrap_future",
]  # fmt: skip
_OF_THE_SYSTEM = (
    "AbstractChildWatcher AbstractEventLoopPolicy AbstractServer BaseEventLoop BaseProtocol BaseTransport "
    "BufferedProtocol DatagramProtocol DatagramTransport DefaultEventLoopPolicy FastChildWatcher Handle "
    "IncompleteReadError LimitOverrunError MultiLoopChildWatcher PidfdChildWatcher Protocol ReadTransport "
    "SafeChildWatcher SelectorEventLoop SendfileNotAvailableError Server StreamReader StreamReaderProtocol "
    "StreamWriter SubprocessProtocol SubprocessTransport ThreadedChildWatcher TimerHandle Transport WriteTransport "
    "create_subprocess_exec create_subprocess_shell get_child_watcher get_event_loop_policy open_connection "
    "open_unix_connection set_child_watcher set_event_loop_policy start_server start_unix_server EventLoop"
)
LEFT_OUT = {
    _OF_THE_SYSTEM: "a cell has no sockets and no processes",
    "Barrier BrokenBarrierError": "rarely used; count with a Semaphore",
    "QueueShutDown": "a queue of one thread is not shut down",
    "coroutine create_eager_task_factory eager_task_factory iscoroutine_ run_coroutine_threadsafe print_call_graph "
    "format_call_graph capture_call_graph FrameCallGraphEntry FutureCallGraph future_add_to_awaited_by "
    "future_discard_from_awaited_by": "it is about threads, frames or other loops",
}

# Bound by the loader.
is_coroutine: Callable[[Any], bool]
makes_coroutines: Callable[[Any], bool]

FIRST_COMPLETED, FIRST_EXCEPTION, ALL_COMPLETED = "FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"
TimeoutError = TimeoutError

_PLAIN = (str, bytes, int, float, bool, list, tuple, dict, set, type(None))


class CancelledError(BaseException):
    pass


class InvalidStateError(Exception):
    pass


class QueueEmpty(Exception):
    pass


class QueueFull(Exception):
    pass


# ---- The loop --------------------------------------------------------------------------------------------------


class AbstractEventLoop:
    def __init__(self) -> None:
        self._ready: Any = deque()
        self._timers: list[Any] = []
        self._count = 0
        self._tasks: list[Any] = []
        self._current: Any = None
        self._closed = False

    def time(self) -> float:
        return time.monotonic()

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> None:
        self._ready.append((callback, args))

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        self._count += 1
        handle = _Handle(callback, args)
        heapq.heappush(self._timers, (when, self._count, handle))
        return handle

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> Any:
        return Task(coro, loop=self, name=name)

    def create_future(self) -> Any:
        return Future(loop=self)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        made = Future(loop=self)
        try:
            made.set_result(func(*args))
        except Exception as error:
            made.set_exception(error)
        return made

    def run_until_complete(self, future: Any) -> Any:
        if _running:
            raise RuntimeError("This event loop is already running")
        _running.append(self)
        try:
            main = ensure_future(future)
            self._run(main)
            return main.result()
        finally:
            _running.pop()

    def _run(self, main: Any) -> None:
        while not main.done():
            if self._ready:
                callback, args = self._ready.popleft()
                callback(*args)
            elif self._timers:
                when, _, handle = heapq.heappop(self._timers)
                if not handle.cancelled():
                    pause = when - self.time()
                    if pause > 0:
                        time.sleep(pause)
                    self._ready.append((handle.callback, handle.args))
            else:
                raise RuntimeError("every task waits for another one, so this would wait forever")

    def _end(self) -> None:
        """Cancel the tasks that are left, and let them finish."""
        left = [each for each in self._tasks if not each.done()]
        for each in left:
            each.cancel()
        _running.append(self)
        try:
            for each in left:
                self._run(each)
        finally:
            _running.pop()

    def is_running(self) -> bool:
        return any(each is self for each in _running)

    def is_closed(self) -> bool:
        return self._closed

    def stop(self) -> None:
        pass

    def close(self) -> None:
        self._closed = True

    def set_debug(self, enabled: bool) -> None:
        pass

    def get_debug(self) -> bool:
        return False

    def set_exception_handler(self, handler: Any) -> None:
        pass


class _Handle:
    def __init__(self, callback: Any, args: Any) -> None:
        self.callback, self.args, self._cancelled = callback, args, False

    def cancel(self) -> None:
        self._cancelled = True

    def cancelled(self) -> bool:
        return self._cancelled


_running: list[Any] = []
_set: list[Any] = []


def get_running_loop() -> Any:
    if not _running:
        raise RuntimeError("no running event loop")
    return _running[-1]


def get_event_loop() -> Any:
    if _running:
        return _running[-1]
    if not _set:
        _set.append(AbstractEventLoop())
    return _set[-1]


def new_event_loop() -> Any:
    return AbstractEventLoop()


def set_event_loop(loop: Any) -> None:
    _set[:] = [] if loop is None else [loop]


def run(main: Any, *, debug: Any = None, loop_factory: Any = None) -> Any:
    if _running:
        raise RuntimeError("asyncio.run() cannot be called from a running event loop")
    if not is_coroutine(main):
        raise ValueError(f"a coroutine was expected, got {main!r}")
    loop = AbstractEventLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop._end()


class Runner:
    def __init__(self, *, debug: Any = None, loop_factory: Any = None) -> None:
        self._loop = AbstractEventLoop()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def run(self, coro: Any, *, context: Any = None) -> Any:
        return self._loop.run_until_complete(coro)

    def get_loop(self) -> Any:
        return self._loop

    def close(self) -> None:
        self._loop._end()


# ---- Futures and tasks -----------------------------------------------------------------------------------------


class Future:
    def __init__(self, *, loop: Any = None) -> None:
        self._loop = get_event_loop() if loop is None else loop
        self._state = "PENDING"
        self._value: Any = None
        self._error: Any = None
        self._callbacks: list[Any] = []

    def _finish(self, state: str, value: Any = None, error: Any = None) -> None:
        if self._state != "PENDING":
            raise InvalidStateError("invalid state")
        self._state, self._value, self._error = state, value, error
        for each in self._callbacks:
            self._loop.call_soon(each, self)
        self._callbacks = []

    def set_result(self, result: Any) -> None:
        self._finish("FINISHED", result)

    def set_exception(self, exception: Any) -> None:
        self._finish("FINISHED", None, exception() if isinstance(exception, type) else exception)

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        self._finish("CANCELLED")
        return True

    def done(self) -> bool:
        return self._state != "PENDING"

    def cancelled(self) -> bool:
        return self._state == "CANCELLED"

    def result(self) -> Any:
        error = self.exception()
        if error is not None:
            raise error
        return self._value

    def exception(self) -> Any:
        if self.cancelled():
            raise CancelledError
        if not self.done():
            raise InvalidStateError("Result is not set." if not isinstance(self, Task) else "Exception is not set.")
        return self._error

    def add_done_callback(self, fn: Any, *, context: Any = None) -> None:
        if self.done():
            self._loop.call_soon(fn, self)
        else:
            self._callbacks.append(fn)

    def remove_done_callback(self, fn: Any) -> int:
        before = len(self._callbacks)
        self._callbacks = [each for each in self._callbacks if each != fn]
        return before - len(self._callbacks)

    def get_loop(self) -> Any:
        return self._loop

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self.done():
            yield self
        return self.result()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._state.lower()}>"


class Task(Future):
    _named = 0

    def __init__(self, coro: Any, *, loop: Any = None, name: Any = None, context: Any = None) -> None:
        if not is_coroutine(coro):
            raise TypeError(f"a coroutine was expected, got {coro!r}")
        super().__init__(loop=loop)
        Task._named += 1
        self._coro = coro
        self._name = str(name) if name is not None else f"Task-{Task._named}"
        self._waits_for: Any = None
        self._cancelling = 0
        self._to_cancel = False
        self._loop._tasks.append(self)
        self._loop.call_soon(self._step)

    def get_name(self) -> str:
        return self._name

    def set_name(self, value: object) -> None:
        self._name = str(value)

    def get_coro(self) -> Any:
        return self._coro

    def cancelling(self) -> int:
        return self._cancelling

    def uncancel(self) -> int:
        self._cancelling = max(0, self._cancelling - 1)
        return self._cancelling

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        self._cancelling += 1
        if self._waits_for is None or not self._waits_for.cancel():
            self._to_cancel = True
        return True

    def _step(self, awaited: Any = None) -> None:
        if self.done():
            return
        before, self._loop._current = self._loop._current, self
        self._waits_for = None
        try:
            if self._to_cancel:
                self._to_cancel = False
                following = self._coro.throw(CancelledError())
            else:
                following = self._coro.send(None)
        except StopIteration as stop:
            self._finish("FINISHED", stop.value)
        except CancelledError:
            self._finish("CANCELLED")
        except Exception as error:
            self._finish("FINISHED", None, error)
        else:
            self._wait(following)
        finally:
            self._loop._current = before
        if self.done():
            self._loop._tasks.remove(self)

    def _wait(self, following: Any) -> None:
        if following is None:
            self._loop.call_soon(self._step)
        elif following is self:
            self._loop.call_soon(self._fail, RuntimeError(f"Task cannot await on itself: {self!r}"))
        elif isinstance(following, Future):
            self._waits_for = following
            following.add_done_callback(self._step)
            if self._to_cancel and following.cancel():
                self._to_cancel = False
        else:
            self._loop.call_soon(self._fail, RuntimeError(f"Task got bad yield: {following!r}"))

    def _fail(self, error: Any) -> None:
        try:
            self._coro.throw(error)
        except StopIteration as stop:
            self._finish("FINISHED", stop.value)
        except Exception as raised:
            self._finish("FINISHED", None, raised)

    def __repr__(self) -> str:
        return f"<Task {self._state.lower()} name={self._name!r}>"


class _Turn:
    """Awaited, it lets every other task have its turn."""

    def __await__(self) -> Generator[Any, Any, Any]:
        yield None


def iscoroutine(obj: Any) -> bool:
    return is_coroutine(obj)


def iscoroutinefunction(func: Any) -> bool:
    return makes_coroutines(func)


def isfuture(obj: Any) -> bool:
    return isinstance(obj, Future)


def create_task(coro: Any, *, name: Any = None, context: Any = None) -> Any:
    return get_running_loop().create_task(coro, name=name)


def ensure_future(coro_or_future: Any, *, loop: Any = None) -> Any:
    if isinstance(coro_or_future, Future):
        return coro_or_future
    loop = get_event_loop() if loop is None else loop
    if is_coroutine(coro_or_future):
        return loop.create_task(coro_or_future)
    if hasattr(coro_or_future, "__await__"):
        return loop.create_task(_awaiting(coro_or_future))
    if isinstance(coro_or_future, _PLAIN):  # what llm_query and tools give
        made = Future(loop=loop)
        made.set_result(coro_or_future)
        return made
    raise TypeError("An asyncio.Future, a coroutine or an awaitable is required")


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable


def wrap_future(future: Any, *, loop: Any = None) -> Any:
    made = Future(loop=loop)
    error = future.exception()
    if error is None:
        made.set_result(future.result())
    else:
        made.set_exception(error)
    return made


def current_task(loop: Any = None) -> Any:
    return (get_running_loop() if loop is None else loop)._current


def all_tasks(loop: Any = None) -> set[Any]:
    return {each for each in (get_running_loop() if loop is None else loop)._tasks if not each.done()}


async def sleep(delay: float, result: Any = None) -> Any:
    if delay <= 0:
        await _Turn()
        return result
    loop = get_running_loop()
    made = Future(loop=loop)
    handle = loop.call_later(delay, _set_unless_done, made, result)
    try:
        return await made
    finally:
        handle.cancel()


def _set_unless_done(future: Any, result: Any) -> None:
    if not future.done():
        future.set_result(result)


async def to_thread(func: Any, /, *args: Any, **kwargs: Any) -> Any:
    await _Turn()
    return func(*args, **kwargs)


class _Gathered(Future):
    def __init__(self, members: list[Any], *, loop: Any) -> None:
        super().__init__(loop=loop)
        self._members = members

    def cancel(self, msg: Any = None) -> bool:
        if self.done():
            return False
        cancelled = [each.cancel() for each in self._members]  # every one of them
        return any(cancelled)


def gather(*coros_or_futures: Any, return_exceptions: bool = False) -> Any:
    loop = get_event_loop()
    seen: list[Any] = []
    members: list[Any] = []
    for each in coros_or_futures:
        known = [member for asked, member in seen if asked is each and not isinstance(each, _PLAIN)]
        members.append(known[0] if known else ensure_future(each, loop=loop))
        seen.append((each, members[-1]))
    outer = _Gathered(members, loop=loop)
    waiting = len(members)

    def finish(done: Any) -> None:
        nonlocal waiting
        waiting -= 1
        if outer.done():
            return
        if not return_exceptions and (done.cancelled() or done.exception() is not None):
            outer.set_exception(CancelledError() if done.cancelled() else done.exception())
        elif not waiting:
            outer.set_result(
                [CancelledError() if each.cancelled() else each.exception() or each.result() for each in members]
            )

    for each in members:
        each.add_done_callback(finish)
    if not members:
        outer.set_result([])
    return outer


def shield(arg: Any) -> Any:
    inner = ensure_future(arg)
    outer = Future(loop=inner.get_loop())

    def finish(done: Any) -> None:
        if outer.done():
            return
        if done.cancelled():
            outer.cancel()
        elif done.exception() is not None:
            outer.set_exception(done.exception())
        else:
            outer.set_result(done.result())

    inner.add_done_callback(finish)
    return outer


async def wait(fs: Any, *, timeout: float | None = None, return_when: str = ALL_COMPLETED) -> Any:
    if not fs:
        raise ValueError("Set of Tasks/Futures is empty.")
    members = [ensure_future(each) for each in fs]
    loop = get_running_loop()
    until = Future(loop=loop)

    def check(done: Any) -> None:
        if (
            return_when == FIRST_COMPLETED
            or all(each.done() for each in members)
            or (return_when == FIRST_EXCEPTION and not done.cancelled() and done.exception() is not None)
        ):
            _set_unless_done(until, None)

    handle = None if timeout is None else loop.call_later(timeout, _set_unless_done, until, None)
    for each in members:
        each.add_done_callback(check)
    try:
        await until
    finally:
        if handle is not None:
            handle.cancel()
        for each in members:
            each.remove_done_callback(check)
    return {each for each in members if each.done()}, {each for each in members if not each.done()}


async def wait_for(fut: Any, timeout: float | None) -> Any:
    member = ensure_future(fut)
    if timeout is None:
        return await member
    done, _ = await wait([member], timeout=timeout)
    if not done:
        member.cancel()
        try:
            await member
        except CancelledError:
            pass
        raise TimeoutError
    return member.result()


def as_completed(fs: Any, *, timeout: float | None = None) -> Iterator[Any]:
    members = [ensure_future(each) for each in fs]
    finished = Queue()
    for each in members:
        each.add_done_callback(finished.put_nowait)
    ends = None if timeout is None else get_event_loop().time() + timeout

    async def following() -> Any:
        left = None if ends is None else max(0, ends - get_running_loop().time())
        done = await wait_for(finished.get(), left)
        return done.result()

    return (following() for _ in members)


class Timeout:
    def __init__(self, when: float | None) -> None:
        self._when, self._expired = when, False
        self._handle: Any = None
        self._task: Any = None

    def when(self) -> float | None:
        return self._when

    def reschedule(self, when: float | None) -> None:
        self._when = when
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None if when is None else get_running_loop().call_at(when, self._expire)

    def expired(self) -> bool:
        return self._expired

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    async def __aenter__(self) -> Any:
        self._task = current_task()
        self.reschedule(self._when)
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._expired and isinstance(error, CancelledError):
            self._task.uncancel()
            raise TimeoutError from error


def timeout(delay: float | None) -> Any:
    return Timeout(None if delay is None else get_running_loop().time() + delay)


def timeout_at(when: float | None) -> Any:
    return Timeout(when)


class TaskGroup:
    """As the original, but the first failure is raised itself: cells have no exception groups."""

    def __init__(self) -> None:
        self._members: list[Any] = []
        self._error: Any = None

    async def __aenter__(self) -> Any:
        return self

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> Any:
        made = create_task(coro, name=name)
        self._members.append(made)
        made.add_done_callback(self._check)
        return made

    def _check(self, done: Any) -> None:
        if not done.cancelled() and done.exception() is not None and self._error is None:
            self._error = done.exception()
            self._cancel()

    def _cancel(self) -> None:
        for each in self._members:
            each.cancel()

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self._cancel()
        while left := [each for each in self._members if not each.done()]:
            await wait(left)
        await _Turn()  # the callbacks of the last ones
        if error is None and self._error is not None:
            raise self._error


# ---- Synchronisation -------------------------------------------------------------------------------------------


class _Waiting:
    """Futures of the tasks that wait, in order."""

    def __init__(self) -> None:
        self._waiting: Any = deque()

    async def _until(self, holds: Any) -> None:
        while not holds():
            made = Future(loop=get_running_loop())
            self._waiting.append(made)
            await made

    def _wake(self, count: int = 1) -> None:
        while self._waiting and count > 0:
            made = self._waiting.popleft()
            if not made.done():
                made.set_result(None)
                count -= 1

    def _wake_all(self) -> None:
        self._wake(len(self._waiting))


class Semaphore(_Waiting):
    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("Semaphore initial value must be >= 0")
        super().__init__()
        self._value = value

    def locked(self) -> bool:
        return self._value == 0

    async def acquire(self) -> bool:
        await self._until(lambda: self._value > 0)
        self._value -= 1
        return True

    def release(self) -> None:
        self._value += 1
        self._wake()

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *details: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    def __init__(self, value: int = 1) -> None:
        super().__init__(value)
        self._most = value

    def release(self) -> None:
        if self._value >= self._most:
            raise ValueError("BoundedSemaphore released too many times")
        super().release()


class Lock(Semaphore):
    def __init__(self) -> None:
        super().__init__(1)

    def release(self) -> None:
        if self._value:
            raise RuntimeError("Lock is not acquired.")
        super().release()


class Event(_Waiting):
    def __init__(self) -> None:
        super().__init__()
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._wake_all()

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> bool:
        await self._until(lambda: self._is_set)
        return True


class Condition(_Waiting):
    def __init__(self, lock: Any = None) -> None:
        super().__init__()
        self._lock = Lock() if lock is None else lock
        self.acquire, self.release, self.locked = self._lock.acquire, self._lock.release, self._lock.locked

    async def __aenter__(self) -> None:
        await self._lock.acquire()

    async def __aexit__(self, *details: object) -> None:
        self._lock.release()

    async def wait(self) -> bool:
        made = Future(loop=get_running_loop())
        self._waiting.append(made)
        self._lock.release()
        try:
            await made
        finally:
            await self._lock.acquire()
        return True

    async def wait_for(self, predicate: Any) -> Any:
        while not (found := predicate()):
            await self.wait()
        return found

    def notify(self, n: int = 1) -> None:
        self._wake(n)

    def notify_all(self) -> None:
        self._wake_all()


class Queue:
    def __init__(self, maxsize: int = 0) -> None:
        self._maxsize = maxsize
        self._unfinished = 0
        self._getters, self._putters, self._joiners = _Waiting(), _Waiting(), _Waiting()
        self._init()

    def _init(self) -> None:
        self._queue: Any = deque()

    def _put(self, item: Any) -> None:
        self._queue.append(item)

    def _get(self) -> Any:
        return self._queue.popleft()

    @property
    def maxsize(self) -> int:
        return self._maxsize

    def qsize(self) -> int:
        return len(self._queue)

    def empty(self) -> bool:
        return not self._queue

    def full(self) -> bool:
        return 0 < self._maxsize <= len(self._queue)

    async def put(self, item: Any) -> None:
        await self._putters._until(lambda: not self.full())
        self.put_nowait(item)

    def put_nowait(self, item: Any) -> None:
        if self.full():
            raise QueueFull
        self._put(item)
        self._unfinished += 1
        self._getters._wake()

    async def get(self) -> Any:
        await self._getters._until(lambda: not self.empty())
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if self.empty():
            raise QueueEmpty
        item = self._get()
        self._putters._wake()
        return item

    def task_done(self) -> None:
        if self._unfinished <= 0:
            raise ValueError("task_done() called too many times")
        self._unfinished -= 1
        if not self._unfinished:
            self._joiners._wake_all()

    async def join(self) -> None:
        await self._joiners._until(lambda: not self._unfinished)


class PriorityQueue(Queue):
    def _init(self) -> None:
        self._queue = []

    def _put(self, item: Any) -> None:
        heapq.heappush(self._queue, item)

    def _get(self) -> Any:
        return heapq.heappop(self._queue)


class LifoQueue(Queue):
    def _init(self) -> None:
        self._queue = []

    def _get(self) -> Any:
        return self._queue.pop()
