"""What one run shares with all its descendants: the ledger, model calls in flight, and the stop.

Model calls of the whole tree run on an event loop that no other tree has meanwhile (see rlm_secure.rlm.loops), so
ending the tree cancels their requests.
A stop also interrupts every running cell, repeatedly until its session stops.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

from rlm_secure.clients.base import Client, InThread, in_thread
from rlm_secure.clients.prices import Price, Prices
from rlm_secure.clients.windows import Windows
from rlm_secure.environments.quota import SharedSandboxes
from rlm_secure.errors import (
    CancellationError,
    CellError,
    PriceUnknownError,
    SessionEnded,
    TimeoutExceededError,
    WrongProcess,
)
from rlm_secure.events import Event, EventsDropped, Listener, Noticed, RunCompleted, event_bytes, tell
from rlm_secure.logger.records import record
from rlm_secure.loggers import logger
from rlm_secure.policy import Gate
from rlm_secure.policy.model import Policy
from rlm_secure.rlm.budget import Ledger, Reservation, TreeRecords
from rlm_secure.rlm.loops import RunLoop, take
from rlm_secure.rlm.slots import ChildSlots
from rlm_secure.types import Notice

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Seconds between two interrupts of a cell that is still running after a stop.
_INTERRUPT_AGAIN: Final = 0.1
#: Longest wait for threads of a tree that has ended, in seconds.
_JOIN: Final = 2.0
_ENDED: Final = "Execution cancelled: its run has ended"
#: Most notices of one tree: each is given once, and there are few kinds.
_NOTICES: Final = 32
#: Most events that wait to be read.
_EVENTS: Final = 10_000

_log = logger("rlm_secure")

#: What is delivered by the code that runs: the end of each waits for it.
_within: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar("_within", default=())


class Interruptible(Protocol):
    """A session that can be told to stop from another thread."""

    def interrupt(self) -> None:
        """End the running cell."""


class Tree:
    """State that a root run creates and every descendant shares, including the run's deadline.

    `concurrency` bounds model calls in flight, `children` the child runs that run at the same time. `policy` bounds
    the bytes kept (`records`) and held temporarily (`batch_bytes`). `prices` says what models cost, `windows` how
    much they read, `whose` is the RLM that its sessions are counted for. Use as a context manager: leaving it ends
    whatever still runs, and closes sandboxes and the connections of adopted clients. `streams`: the root's replies are
    told as they arrive.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        concurrency: int,
        children: int,
        listeners: Sequence[Listener] = (),
        policy: Policy | None = None,
        prices: Prices | None = None,
        windows: Windows | None = None,
        whose: object = None,
        streams: bool = False,
    ) -> None:
        policy = policy or Policy()
        self.ledger = ledger
        self._owner = os.getpid()
        self.prices = prices or Prices()
        self.windows = windows or Windows()
        self.whose = whose
        self.streams = streams
        self.records = TreeRecords(policy.limits.kept_bytes, ledger)
        self.batch_bytes = ByteBudget(policy.limits.kept_bytes)
        self.slots = ChildSlots(children, self.overdue)
        self._notices: list[Notice] = []
        self.sandboxes = SharedSandboxes(self.check)
        self._listeners = tuple(listeners)
        #: None before the tree is entered, and after its end: then another tree may have the loop.
        self._loop: RunLoop | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._in_flight = asyncio.Semaphore(concurrency)
        self._settled = asyncio.Event()
        self._lock = threading.Lock()
        self._calls: set[concurrent.futures.Future[Any]] = set()
        self._sessions: list[Interruptible] = []
        self._clients: list[Client] = []
        self._reason: str | None = None

    def __enter__(self) -> Tree:
        self._loop = take("rlm-secure-tree")
        # Without the caller's context variables: an event loop may keep a timer, and its context, after its end.
        self._loop.events.call_soon_threadsafe(self._begin, context=contextvars.Context())
        return self

    def __exit__(self, *_: object) -> None:
        if not self.ours:
            return  # a fork has neither the threads nor the sandboxes of the tree, and must not end them
        if self.slots.busy or self._calls or self._sessions:
            self.stop(_ENDED)
        self.slots.join(_JOIN)
        try:
            self.sandboxes.close()
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        assert loop is not None
        kept = False
        try:
            closing = asyncio.run_coroutine_threadsafe(self._close(), loop.events)
            with suppress(TimeoutError, concurrent.futures.CancelledError):
                kept = closing.exception(2 * _JOIN) is None and closing.result()
        finally:
            if kept:
                loop.give_back()
            else:
                loop.end()

    async def run(self, work: Callable[[Tree], T]) -> T:
        """Run `work(self)` inside the tree, in a thread, from an event loop. Cancelling stops the tree and waits."""

        def entered() -> T:
            with self:
                return work(self)

        running = asyncio.ensure_future(in_thread(entered))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stop("Execution cancelled: its task was cancelled")
            await asyncio.wait([running])
            running.exception()  # marks it as retrieved: the caller gets the cancellation, not the error it caused
            raise
        except InThread as carried:
            raise carried.cause from None

    def stop(self, reason: str) -> None:
        """End the tree: cancel calls in flight, interrupt cells, start nothing new. Idempotent."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            calls, loop = tuple(self._calls), self._loop
        self.slots.close()
        for call in calls:
            call.cancel()
        if loop is None:
            return  # the tree has ended, or has not begun: no session is in `running`
        try:
            # In an empty context: the caller may itself be a host call that a cell of this tree waits for, and with
            # its context the interrupt would seem to come from inside that call.
            loop.events.call_soon_threadsafe(self._interrupt, context=contextvars.Context())
        except RuntimeError:
            return  # the loop is closed: the tree has ended at this moment

    @property
    def ours(self) -> bool:
        """Whether this process created the tree; false in a fork of it."""
        return Gate.process(self._owner).allowed

    @property
    def here(self) -> bool:
        """Whether this thread is that of the tree's loop: whoever waits there for the tree would wait for himself."""
        loop = self._loop
        return loop is not None and loop.here

    @property
    def stopped(self) -> bool:
        """Whether the tree was stopped, or ran out of time."""
        return self._reason is not None

    def check(self, partial_answer: str | None = None) -> None:
        """Raise TimeoutExceededError or CancellationError if the tree was stopped."""
        if self._reason is None:
            return
        if self.ledger.seconds_left <= 0:
            raise TimeoutExceededError(self.ledger.elapsed, self.ledger.allowance.seconds, partial_answer)
        raise CancellationError(partial_answer, self._reason)

    def overdue(self) -> bool:
        """Whether the tree was stopped and its deadline passed so long ago that nothing of it should still run."""
        return self._reason is not None and self.ledger.seconds_left < -_JOIN

    @contextmanager
    def running(self, session: Interruptible) -> Iterator[None]:
        """Interrupt `session` if the tree is stopped inside the block. Raises as check().

        A run makes every request to its session in such a block: that is how the run's deadline applies to cells.
        """
        with self._lock:
            self._sessions.append(session)
        try:
            self.check()
            yield
        except (CellError, SessionEnded):
            self.check()  # if the stop caused this, raise the tree's reason instead
            raise
        finally:
            with self._lock:
                self._sessions.remove(session)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run `coroutine` on the tree's loop and wait for it. Raises what it raises, or as check().

        Raises WrongProcess in a fork, where no thread runs the loop, and CancellationError after the tree's end.
        """
        if not self.ours:
            coroutine.close()
            Gate.process(self._owner).require(WrongProcess)
        # With the lock: what is put on the loop before the tree leaves it, is seen and cancelled when it does.
        future = None
        with self._lock:
            stopped = self._reason is not None
            if self._loop is not None:
                future = asyncio.run_coroutine_threadsafe(coroutine, self._loop.events)
                self._calls.add(future)
        if future is None:
            coroutine.close()
            self.check()
            raise CancellationError(None, _ENDED)
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
    async def reserve(
        self, prompt_bytes: int, price: Price | None = None, max_output_tokens: int | None = None
    ) -> AsyncIterator[Reservation]:
        """Wait until one more call may be in flight and the ledger reserves it. Raises as Ledger.reserve().

        A call that leaves the block unsettled is charged as lost.
        """
        async with self._in_flight:
            while (reservation := self.ledger.reserve(prompt_bytes, price, max_output_tokens)) is None:
                await self._settled.wait()
            try:
                yield reservation
            finally:
                reservation.lose()
                self._look_again()

    def wake(self) -> None:
        """Let the calls that wait for the ledger ask it again: it has more to give. From any thread."""
        with self._lock:
            if self._loop is not None:
                self._loop.events.call_soon_threadsafe(self._look_again, context=contextvars.Context())

    def _look_again(self) -> None:
        settled, self._settled = self._settled, asyncio.Event()
        settled.set()

    def adopt(self, client: Client) -> None:
        """Close the connections of `client` when the tree ends."""
        with self._lock:
            self._clients.append(client)

    # -- refused calls of cells, and notices for the caller -------------------------------------------

    def refused(self) -> int:
        """Count a refused call of a cell. Returns the number so far."""
        return self.ledger.refused_call()

    def expect_price(self, depth: int, client: Client) -> None:
        """Check, before a client is used, that its calls have a known price. Raises as price_unknown()."""
        name = client.model_name or "unknown"
        if client.billing == "table" and self.prices.of(name) is None:
            self.price_unknown(depth, name)

    def price_unknown(self, depth: int, model: str) -> None:
        """Report that `model` has no known price. Raises PriceUnknownError if the run's cost limit must hold."""
        if self.ledger.allowance.priced:
            raise PriceUnknownError(model)
        self.notice(
            depth,
            "bounded-spend",
            f"partial: the price of the model {model[:80]!r} is unknown, so its calls count as free; calls and tokens "
            "are bounded, and prices= makes the cost bounded as well",
        )

    def notice(self, depth: int, kind: str, message: str) -> None:
        """Add a notice to the completion, once."""
        notice = Notice(kind, message)
        with self._lock:
            if notice in self._notices or len(self._notices) >= _NOTICES:
                return
            self._notices.append(notice)
        _log.log(logging.INFO if kind == "bounded-spend" else logging.WARNING, "%s: %s", kind, message)
        self.emit(Noticed(depth=depth, kind=kind, message=message))

    @property
    def notices(self) -> list[Notice]:
        """The notices of the whole tree, for the completion."""
        with self._lock:
            return list(self._notices)

    def emit(self, event: Event) -> None:
        """Send `event` to every listener, and log it."""
        record(event)
        for listener in self._listeners:
            tell(listener, event)

    def _begin(self) -> None:
        """Set the deadline, on the loop."""
        self._deadline = asyncio.get_running_loop().call_later(max(0.0, self.ledger.seconds_left), self._expire)

    def _expire(self) -> None:
        self.stop("Execution cancelled: its time is used up")

    def _interrupt(self) -> None:
        """Interrupt every running cell, and repeat: a cell may start at the same moment."""
        with self._lock:
            sessions, loop = tuple(self._sessions), self._loop
        if loop is None:
            return  # the tree has ended
        for session in sessions:
            loop.events.create_task(_interrupted(session))
        loop.events.call_later(_INTERRUPT_AGAIN, self._interrupt)

    async def _close(self) -> bool:
        """End what is on the loop. Returns whether nothing is left on it."""
        if self._deadline is not None:
            self._deadline.cancel()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        _, left = await asyncio.wait(others, timeout=_JOIN) if others else (others, others)
        await asyncio.gather(*(client.aclose() for client in self._clients), return_exceptions=True)
        return not left


async def _interrupted(session: Interruptible) -> None:
    try:
        await in_thread(session.interrupt)
    except Exception:  # noqa: BLE001  a session that cannot be interrupted has ended, or is tried again later
        return


class ByteBudget:
    """Memory that calls hold temporarily: the replies of a batch, until they are in the sandbox."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._held = 0

    def take(self, size: int) -> bool:
        """Reserve `size` bytes if there is room. Returns whether there was."""
        with self._lock:
            if self._held + size > self.limit:
                return False
            self._held += size
            return True

    def give_back(self, size: int) -> None:
        """Release `size` reserved bytes."""
        with self._lock:
            self._held -= size


class Backlog:
    """A bounded queue of events between the run, which never waits, and a reader that may be slow.

    At most `limit` bytes and 10,000 events wait; further events are counted, and an EventsDropped replaces them. The
    last event of the run is always kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._dropped = 0
        self._ended = False
        self._changed = threading.Condition()

    def put(self, event: Event) -> None:
        """Queue an event if there is room, else count it as dropped."""
        size = event_bytes(event)
        with self._changed:
            full = self._bytes + size > self._limit or len(self._waiting) >= _EVENTS
            if full and not (isinstance(event, RunCompleted) and event.depth == 0):
                self._dropped += 1
                return
            if self._dropped:
                self._waiting.append((EventsDropped(depth=0, count=self._dropped), 0))
                self._dropped = 0
            self._waiting.append((event, size))
            self._bytes += size
            self._changed.notify_all()

    def end(self) -> None:
        """Mark the end: no more events follow."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def get(self) -> Event | None:
        """Wait for the next event; None after the last."""
        with self._changed:
            while not self._waiting and not self._ended:
                self._changed.wait()
            if self._waiting:
                event, size = self._waiting.popleft()
                self._bytes -= size
                return event
            dropped, self._dropped = self._dropped, 0
            return EventsDropped(depth=0, count=dropped) if dropped else None


class Waiting(Protocol[T_co]):
    """What a run gave and nobody has read yet."""

    def get(self) -> T_co | None:
        """Wait for the next; None after the last."""

    def end(self) -> None:
        """Mark the end."""


def streamed(make: Callable[[Listener], Tree], work: Callable[[Tree], object], limit: int) -> Iterator[Event]:
    """Yield the events of `work(tree)` as they happen; `make` creates the tree with the listener it is given.

    At most `limit` bytes of events wait to be read. Raises what `work` raises, after its events. Closing the generator
    stops the tree and waits for its end.
    """
    events = Backlog(limit)
    return delivered(lambda: make(events.put), work, events, "its events")


def delivered(
    make: Callable[[], Tree], work: Callable[[Tree], object], waiting: Waiting[T], what: str
) -> Generator[T, None, None]:
    """Yield what `work(tree)`, in another thread, puts into `waiting`; `make` creates the tree. See streamed()."""
    failures: list[BaseException] = []
    owner, tree, mark = os.getpid(), make(), object()

    def run() -> None:
        _within.set((*_within.get(), mark))
        try:
            with tree:
                work(tree)
        except BaseException as error:  # noqa: BLE001  raised again where it is read
            failures.append(error)
        finally:
            waiting.end()

    context = contextvars.copy_context()
    worker = threading.Thread(target=context.run, args=(run,), name="rlm-secure-stream", daemon=True)
    worker.start()
    try:
        while (given := waiting.get()) is not None:
            yield given
            Gate.process(owner).require(WrongProcess)  # in a fork no thread adds to it
    finally:
        if tree.ours:
            tree.stop(f"Execution cancelled: nobody reads {what}")
            # What is left to the garbage collector is closed in any thread, also in one that this one waits for.
            if mark not in _within.get() and not tree.here:
                worker.join()
    if failures:
        raise failures[0]
