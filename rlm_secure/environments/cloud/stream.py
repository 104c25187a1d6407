"""An event loop for a provider's asynchronous SDK, and its exec streams, for threads that wait with a deadline."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from rlm_secure.broker.transports import BadResponse, TransportLost, left
from rlm_secure.broker.transports.lines import EACH, Charge

T = TypeVar("T")

#: Most inbound bytes in the buffer; beyond that, the provider's stream is not read until a thread takes some.
_INBOUND_BYTES: Final = 8 * 1024 * 1024
#: Most outbound bytes in the buffer.
_OUTBOUND_BYTES: Final = 4 * 1024 * 1024
#: Most outbound bytes in one request. Each request costs a round trip, so it is large on a fast network; on a slow one
#: it is as much as takes between these seconds, because what arrives of it counts only when the request ends.
_BATCH_BYTES: Final = (64 * 1024, 512 * 1024)
_BATCH_SECONDS: Final = (1.0, 4.0)
_ERRORS_KEPT: Final = 4096
#: Most bytes on standard error, which has no backpressure: a program that writes more is ended.
_ERRORS_BYTES: Final = 4 * 1024 * 1024
#: Size below which a piece of output is small, and small pieces per second: each costs as much as a large one.
_SMALL_BYTES: Final = 1024
_SMALL_A_SECOND: Final = 2000
_RETRY_SECONDS: Final = (0.1, 0.3, 1.0)
_SEND_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 5.0
#: Longest wait for the end of a program's output after its input has failed.
_WORDS_SECONDS: Final = 5.0


class Loop:
    """An event loop in its own thread. The SDK's objects are used only there."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(Threads())
        self._thread = threading.Thread(target=self._run, name=f"rlm_secure-{name}", daemon=True)
        self._closed = False
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        """Run it and return its result. After `seconds`, cancel it and raise TimeoutError."""
        if self._closed:
            coroutine.close()
            raise TransportLost("the sandbox was closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(max(seconds, 0.0))
        except concurrent.futures.CancelledError:
            raise TransportLost("the sandbox was closed") from None
        except BaseException:  # Ctrl-C as well: nobody waits for it any more
            future.cancel()
            raise

    def begin(self, step: Callable[..., Awaitable[T]], *arguments: Any) -> concurrent.futures.Future[T]:
        """Start a step; the result is the future's, which can be cancelled. Raises TransportLost."""

        async def run() -> T:
            return await step(*arguments)

        if self._closed:
            raise TransportLost("the sandbox was closed")
        return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run it in the background, until it ends or the loop does."""
        asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def soon(self, step: Callable[[], object]) -> None:
        """Have the loop call `step`, without waiting."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits for `step`
            self._loop.call_soon_threadsafe(step)

    def close(self) -> None:
        """Cancel running tasks and end the thread. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.soon(self._loop.stop)
        self._thread.join(2 * _CLOSE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            with contextlib.suppress(Exception):
                if tasks:
                    self._loop.run_until_complete(asyncio.wait(tasks, timeout=_CLOSE_SECONDS))
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()


class Threads(concurrent.futures.ThreadPoolExecutor):
    """An executor that works during interpreter exit, when sandboxes are ended and host names resolved."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[T]:
        """Run `fn` in a daemon thread of its own."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # noqa: BLE001 - result() raises it
                    future.set_exception(error)

        threading.Thread(target=run, name="rlm_secure-lookup", daemon=True).start()
        return future


def cancelled() -> bool:
    """Whether the current task was asked to cancel."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Program(Protocol):
    """A program that runs in a sandbox, on the loop."""

    async def write(self, data: bytes) -> None:
        """Write bytes to its standard input."""

    async def close(self) -> None:
        """End it."""

    async def drop(self) -> None:
        """Release it without sending anything: its sandbox is gone."""


#: Starts a program whose output goes to the stream's `feed`, `complain` and `finish`.
Start = Callable[["Stream"], Awaitable[Program]]


class Stream:
    """Standard input and output of a program in a sandbox, for one reader thread and one writer thread.

    Write whole lines: a failed request is sent again, so lines may arrive twice. `explain` says what an error of the
    SDK means, and whether it is temporary; `gone` is set once the sandbox has ended. `errors` keeps the end of standard
    error: for messages only, untrusted. `longest` limits the output of one stream, in bytes, where something stores
    all of it: beyond that the stream breaks, and another one continues.
    """

    longest: float = math.inf

    def __init__(self, loop: Loop, explain: Callable[[BaseException], tuple[str, bool]], gone: threading.Event) -> None:
        self._loop = loop
        self._explain = explain
        self._gone = gone
        self._change = threading.Condition()
        self._inbound = bytearray()
        self._outbound: deque[bytes] = deque()
        self._waiting = 0
        self._delivering = 0
        self._most = _BATCH_BYTES[1] // 2
        self._broken = ""
        self._ended = False
        self._silent = False  # its output has ended as well
        self._closed = False
        self._program: Program | None = None
        self._sender: asyncio.Task[None] | None = None
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._complaints = Charge(_ERRORS_BYTES)
        self._bad_response = False
        self._said = 0
        self._small = 0
        self._small_since = 0.0
        self.errors = b""

    def open(self, start: Start, seconds: float) -> None:
        """Start the program. Raises TransportLost, with the provider's message."""
        try:
            self._loop.call(self._open(start), seconds)
        except TimeoutError:
            raise TransportLost("the provider started no program in time") from None
        except TransportLost:
            raise
        except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
            raise TransportLost(self._explain(error)[0]) from None

    # -- threads ----------------------------------------------------------------------------------

    @property
    def undelivered(self) -> int:
        """Bytes written that the provider has not confirmed."""
        with self._change:
            return self._waiting + self._delivering

    def write(self, data: bytes, deadline: float) -> None:
        """Queue `data` for writing; return when there is room for it. Raises TransportLost."""
        with self._change:
            while self._waiting and self._waiting + len(data) > _OUTBOUND_BYTES and not self._broken:
                self._change.wait(left(deadline))
            if self._broken or self._ended:
                raise TransportLost(self._broken or "the stream ended")
            self._outbound.append(data)
            self._waiting += len(data)
        self._loop.soon(self._work.set)

    def read(self, deadline: float) -> bytes:
        """The output so far; b"" at the end. Raises TimeoutError when nothing arrives before `deadline`, TransportLost,
        or BadResponse for too much standard error."""
        with self._change:
            while not self._inbound:
                if self._bad_response:
                    raise BadResponse(self._broken)
                if self._broken:
                    raise TransportLost(self._broken)
                if self._ended:
                    return b""
                if not self._change.wait(max(deadline - time.monotonic(), 0.001)) and time.monotonic() >= deadline:
                    raise TimeoutError("nothing came")
            data = bytes(self._inbound)
            self._inbound.clear()
        self._loop.soon(self._room.set)
        return data

    def close(self) -> None:
        """End the program, if the sandbox still runs. Idempotent."""
        with self._change:
            if self._closed:
                return
            self._closed = True
        self.finish("it was closed")
        with contextlib.suppress(Exception):  # the end of the sandbox ends what is left
            self._loop.call(self._close(), _CLOSE_SECONDS)

    def last_words(self) -> str:
        """The end of the program's standard error, as one line of printable text.

        Once its input has failed, wait up to 5 s for the rest: output arrives separately, and later.
        """
        with self._change:
            if self._ended:
                self._change.wait_for(lambda: self._silent, _WORDS_SECONDS)
        text = self.errors.decode("utf-8", "replace").strip().replace("\n", " | ")
        return "".join(character if character.isprintable() else "?" for character in text)[-400:]

    # -- the loop ---------------------------------------------------------------------------------

    async def feed(self, data: bytes) -> None:
        """Accept output. Wait while too much is unread, or after too many small pieces.

        Output of a broken stream is dropped: it might never be read, and the next stream repeats it.
        """
        with self._change:
            if not self._broken:
                self._inbound += data
                self._change.notify_all()
        self._said += len(data) + EACH
        if self._said > self.longest:
            self.finish("it said more than is to be kept; another stream goes on")
        if len(data) < _SMALL_BYTES:
            await self._rest()
        while len(self._inbound) > _INBOUND_BYTES and not self._broken:
            self._room.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._room.wait(), 0.5)

    async def _rest(self) -> None:
        """Count a small piece; at the limit per second, wait for the next second."""
        now = time.monotonic()
        if now - self._small_since >= 1.0:
            self._small_since, self._small = now, 0
        self._small += 1
        if self._small >= _SMALL_A_SECOND:
            await asyncio.sleep(self._small_since + 1.0 - now)

    async def follow(self, output: AsyncIterable[bytes], errors: AsyncIterable[bytes]) -> None:
        """Read standard output and standard error until both end, or one breaks."""

        async def complaints() -> None:
            async for data in errors:
                self.complain(data)

        beside = asyncio.ensure_future(complaints())
        try:
            async for data in output:
                await self.feed(data)
            await beside
        except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
            self.finish(self._explain(error)[0])
        else:
            self.finish()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)

    def complain(self, data: bytes) -> None:
        """Accept standard error. Ends the program when that is too much."""
        self.errors = (self.errors + data[-_ERRORS_KEPT:])[-_ERRORS_KEPT:]
        try:
            self._complaints.took(len(data))
        except BadResponse:
            self.finish("the program said more on standard error than anybody reads")
            with self._change:
                self._bad_response = True
                closed, self._closed = self._closed, True
            if not closed:
                self._loop.spawn(self._close())

    def finish(self, why: str = "", *, silent: bool = True) -> None:
        """Record that the program ended, or with `why`, that the stream broke. The first reason is kept.

        `silent`: its output has ended or broken as well.
        """
        with self._change:
            if why and not self._ended:
                self._broken = self._broken or why
            self._ended = True
            self._silent = self._silent or silent
            self._change.notify_all()

    async def _open(self, start: Start) -> None:
        self._program = await start(self)
        if self._closed:  # while it started, for too much standard error
            await self._close()
            raise TransportLost(self._broken)
        self._sender = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while batch := self._batch():
                began = time.monotonic()
                try:
                    await self._deliver(batch)
                except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
                    self.finish(self._explain(error)[0], silent=False)
                    return
                took = time.monotonic() - began
                if took > _BATCH_SECONDS[1]:
                    self._most = max(self._most // 2, _BATCH_BYTES[0])
                elif took < _BATCH_SECONDS[0]:
                    self._most = min(self._most * 2, _BATCH_BYTES[1])

    def _batch(self) -> bytes:
        with self._change:
            size = 0
            pieces: list[bytes] = []
            while self._outbound and (not pieces or size + len(self._outbound[0]) <= self._most):
                pieces.append(self._outbound.popleft())
                size += len(pieces[-1])
            self._waiting -= size
            self._delivering = size
            self._change.notify_all()
            return b"".join(pieces)

    async def _deliver(self, batch: bytes) -> None:
        assert self._program is not None
        for pause in (*_RETRY_SECONDS, None):
            try:
                # Not wait_for: an error that the SDK raises on cancellation would be logged as never retrieved.
                async with asyncio.timeout(_SEND_SECONDS):
                    await self._program.write(batch)
                return
            except Exception as error:
                passes = self._explain(error)[1] and not self._gone.is_set() and not cancelled()
                if pause is None or not passes:
                    raise
                await asyncio.sleep(pause)

    async def _close(self) -> None:
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait([self._sender])  # its request must end before the SDK is closed
        if self._program is not None:
            await (self._program.drop() if self._gone.is_set() else self._program.close())
