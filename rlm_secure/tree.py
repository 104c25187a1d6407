"""One run and all its descendants, as far as they share something: spending, calls out, and an end.

Model calls of the whole tree run on one event loop in a thread of its own, so that ending the tree cancels
them on the wire. A stop also interrupts every running cell, again and again until its session has noticed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Protocol, TypeVar

from rlm_secure.budget import Ledger, Reservation
from rlm_secure.clients.base import Client, InThread, in_thread
from rlm_secure.environments.fleet import Fleet
from rlm_secure.errors import CancellationError, TimeoutExceededError, WrongProcess
from rlm_secure.events import Event, Listener, tell
from rlm_secure.policy import Gate
from rlm_secure.subcalls import Places

T = TypeVar("T")

#: Seconds between two interrupts of a cell that goes on after a stop.
_INTERRUPT_AGAIN: Final = 0.1
#: Longest wait for threads of a tree that has ended, in seconds.
_JOIN: Final = 2.0


class Interruptible(Protocol):
    """A session that can be told to stop from another thread."""

    def interrupt(self) -> None:
        """End the running cell."""


class Tree:
    """What a root run creates and every descendant shares.

    `concurrency` bounds model calls in flight, `children` the child runs that run at the same time. Use as a
    context manager: leaving it ends whatever still runs, and closes sandboxes and the connections of adopted clients.
    """

    def __init__(self, ledger: Ledger, *, concurrency: int, children: int, listeners: Sequence[Listener] = ()) -> None:
        self.ledger = ledger
        self._owner = os.getpid()
        self.places = Places(children)
        self.fleet = Fleet(self.check)
        self._listeners = tuple(listeners)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="rlm-secure-tree", daemon=True)
        self._in_flight = asyncio.Semaphore(concurrency)
        self._settled = asyncio.Event()
        self._lock = threading.Lock()
        self._calls: set[concurrent.futures.Future[Any]] = set()
        self._sessions: list[Interruptible] = []
        self._clients: list[Client] = []
        self._reason: str | None = None

    def __enter__(self) -> Tree:
        self._thread.start()
        self._loop.call_soon_threadsafe(self._loop.call_later, max(0.0, self.ledger.seconds_left), self._expire)
        return self

    def __exit__(self, *_: object) -> None:
        if not self.ours:
            return  # a fork has neither the threads nor the sandboxes of the tree, and must end nothing of it
        if self.places.busy or self._calls or self._sessions:
            self.stop("Execution cancelled: its run has ended")
        self.places.join(_JOIN)
        try:
            self.fleet.close()
        finally:
            self._leave()

    def _leave(self) -> None:
        closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        concurrent.futures.wait([closing], timeout=2 * _JOIN)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN)

    async def run(self, work: Callable[[Tree], T]) -> T:
        """`work(self)` inside the tree, in a thread, for another event loop. Cancelling stops the tree, and waits."""

        def entered() -> T:
            with self:
                return work(self)

        running = asyncio.ensure_future(in_thread(entered))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stop("Execution cancelled: its task was cancelled")
            await asyncio.wait([running])
            running.exception()  # looked at: the caller learns of the cancellation, not of what it made fail
            raise
        except InThread as carried:
            raise carried.cause from None

    def stop(self, reason: str) -> None:
        """End the tree: cancel calls in flight, interrupt cells, let nothing new begin. Idempotent."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            calls = tuple(self._calls)
        self.places.close()
        for call in calls:
            call.cancel()
        # In no context: whoever stops the tree may be what a cell of it waits for, and must not seem to interrupt it.
        self._loop.call_soon_threadsafe(self._interrupt, context=contextvars.Context())

    @property
    def ours(self) -> bool:
        """Whether this process began the tree; a fork of it did not."""
        return Gate.process(self._owner).allowed

    @property
    def stopped(self) -> bool:
        """Whether the tree was stopped, or ran out of time."""
        return self._reason is not None

    def check(self, partial_answer: str | None = None) -> None:
        """Raise why the tree was stopped: TimeoutExceededError or CancellationError. Else do nothing."""
        if self._reason is None:
            return
        if self.ledger.seconds_left <= 0:
            raise TimeoutExceededError(self.ledger.elapsed, self.ledger.allowance.seconds, partial_answer)
        raise CancellationError(partial_answer, self._reason)

    @contextmanager
    def running(self, session: Interruptible) -> Iterator[None]:
        """Have `session` interrupted when the tree is stopped inside the block. Raises as check()."""
        with self._lock:
            self._sessions.append(session)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._sessions.remove(session)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run `coroutine` on the tree's loop and wait for it. Raises what it raises, or as check().

        Raises WrongProcess in a fork, where nothing serves the loop.
        """
        if not self.ours:
            coroutine.close()
            Gate.process(self._owner).require(WrongProcess)
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        with self._lock:
            self._calls.add(future)
            stopped = self._reason is not None
        if stopped:
            future.cancel()
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            self.check()
            raise
        except InThread as carried:
            raise carried.cause from None
        finally:
            future.cancel()
            with self._lock:
                self._calls.discard(future)

    @asynccontextmanager
    async def reserve(self, prompt_bytes: int) -> AsyncIterator[Reservation]:
        """Wait for a place in flight and for an allowance, for one call. Raises as Ledger.reserve().

        A call that leaves the block unsettled is charged as lost.
        """
        async with self._in_flight:
            while (reservation := self.ledger.reserve(prompt_bytes)) is None:
                await self._settled.wait()
            try:
                yield reservation
            finally:
                reservation.lose()
                settled, self._settled = self._settled, asyncio.Event()
                settled.set()

    def adopt(self, client: Client) -> None:
        """Close the connections of `client` when the tree ends."""
        with self._lock:
            self._clients.append(client)

    def emit(self, event: Event) -> None:
        """Tell every listener."""
        for listener in self._listeners:
            tell(listener, event)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _expire(self) -> None:
        self.stop("Execution cancelled: its time is used up")

    def _interrupt(self) -> None:
        """Interrupt every running cell, and look again: a cell may have begun in this moment."""
        with self._lock:
            sessions = tuple(self._sessions)
        for session in sessions:
            self._loop.create_task(_interrupted(session))
        self._loop.call_later(_INTERRUPT_AGAIN, self._interrupt)

    async def _close(self) -> None:
        this = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not this]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_JOIN)
        await asyncio.gather(*(client.aclose() for client in self._clients), return_exceptions=True)


async def _interrupted(session: Interruptible) -> None:
    try:
        await in_thread(session.interrupt)
    except Exception:  # noqa: BLE001  a session that cannot be interrupted is gone, or is asked again
        return


def streamed(make: Callable[[Listener], Tree], work: Callable[[Tree], object]) -> Iterator[Event]:
    """The events of `work(tree)` as they happen, in a tree that `make` gives a listener.

    Raises what `work` raises, after its events. Closing the generator stops the tree and waits for its end.
    """
    events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    failures: list[BaseException] = []
    owner = os.getpid()

    def run(tree: Tree) -> None:
        try:
            work(tree)
        except BaseException as error:  # noqa: BLE001  raised again where the events are read
            failures.append(error)
        finally:
            events.put(None)

    with make(events.put) as tree:
        worker = threading.Thread(target=run, args=(tree,), name="rlm-secure-stream", daemon=True)
        worker.start()
        try:
            while (event := events.get()) is not None:
                yield event
                Gate.process(owner).require(WrongProcess)  # a fork has no thread that puts more events there
        finally:
            if tree.ours:
                tree.stop("Execution cancelled: nobody reads its events")
                worker.join()
    if failures:
        raise failures[0]
