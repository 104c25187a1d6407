"""The sandbox for an event loop: each call runs in a thread, and cancelling it stops its cell."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from rlm_secure.clients.base import InThread, in_thread
from rlm_secure.environments import AuditSink
from rlm_secure.environments.interface import Snapshot
from rlm_secure.environments.waiting import Remaining, too_long
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.pickling import Unpicklable, twin
from rlm_secure.policy import Policy
from rlm_secure.sandbox import Sandbox
from rlm_secure.tools.hostcall import on_abandon
from rlm_secure.types import EnvironmentType, REPLResult

T = TypeVar("T")

#: Seconds after which the cell of a cancelled call is interrupted again: the first may come before the cell begins.
_AGAIN_SECONDS: Final = 0.05


class AsyncSandbox(Unpicklable):
    """As Sandbox, with methods to await; from any event loop and any thread, also several at once.

    Examples:
        >>> async with AsyncSandbox() as sandbox:
        ...     result = await sandbox.run("1 + 1")

    Calls take turns. Cancelling one that waits for its turn changes nothing in the session; cancelling `run` while
    its cell runs stops the cell within twice limits.grace_seconds, and the session goes on as after a timeout. Tools
    that are coroutine functions run on the event loop that awaits the cell, all others in threads.

    The session starts with `async with`, or with the first call; see Sandbox for the arguments and for what is raised.
    """

    pickle_instead = "send its policy, context and code, and create a sandbox there"

    def __init__(
        self,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        context: Any = None,
        environment: EnvironmentType | str = "local",
        environment_kwargs: Mapping[str, Any] | None = None,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        audit: AuditSink | None = None,
    ) -> None:
        self._tools = tools
        self._make = functools.partial(
            Sandbox,
            policy=policy,
            context=context,
            environment=environment,
            environment_kwargs=environment_kwargs,
            audit=audit,
        )
        self._sandbox: Sandbox | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._switch = threading.Lock()
        self._running: _Call | None = None

    @property
    def report(self) -> EnforcementReport:
        """The walls in force around this sandbox. Raises RuntimeError before it was started."""
        if self._sandbox is None:
            raise RuntimeError("the sandbox has not been started; use `async with`, or run something first")
        return self._sandbox.report

    async def run(
        self,
        code: str,
        timeout: float | None = None,
        *,
        exclude_host_time: bool = False,
        on_stdout: Callable[[str], Awaitable[object] | object] | None = None,
        on_stderr: Callable[[str], Awaitable[object] | object] | None = None,
    ) -> REPLResult:
        """Run one cell; see Sandbox.run. `on_stdout` and `on_stderr` run on this event loop, and may be async."""
        began, loop = time.monotonic(), asyncio.get_running_loop()

        def work(sandbox: Sandbox) -> REPLResult:
            left = None if timeout is None else Remaining(timeout - (time.monotonic() - began), timeout)
            if left is not None and left <= 0 < (timeout or 0):
                error = too_long(timeout or 0)
                said = f"{error}; it did not begin, and the session's variables are as they were\n"
                return REPLResult("", said, {}, timeout, error=error)
            return sandbox.run(
                code,
                left,
                exclude_host_time=exclude_host_time,
                on_stdout=self._listener(on_stdout, loop),
                on_stderr=self._listener(on_stderr, loop),
            )

        return await self._call(work)

    async def set(self, **values: Any) -> None:
        """Bind variables of the session; see Sandbox.set."""
        await self._call(lambda sandbox: sandbox.set(**values))

    async def get(self, name: str) -> Any:
        """The value of a variable; see Sandbox.get."""
        return await self._call(lambda sandbox: sandbox.get(name))

    async def put(self, name: str, data: bytes | bytearray | str | Path) -> None:
        """Put a file into the session; see SessionFiles, as for all that is done with files."""
        await self._call(lambda sandbox: sandbox.files.__setitem__(name, data))

    async def read(self, name: str) -> bytes:
        """The contents of a file of the session. Raises KeyError."""
        return await self._call(lambda sandbox: sandbox.files[name])

    async def remove(self, name: str) -> None:
        """Remove a file. Raises KeyError."""
        await self._call(lambda sandbox: sandbox.files.__delitem__(name))

    async def file_sizes(self) -> dict[str, int]:
        """The files of the session, and their sizes in bytes."""
        return await self._call(lambda sandbox: sandbox.files.sizes())

    async def reset(self) -> None:
        """Start again without variables; see Sandbox.reset."""
        await self._call(lambda sandbox: sandbox.reset())

    async def fork(self) -> Self:
        """A copy of this sandbox as it is now, which takes turns of its own; see Sandbox.fork."""
        sandbox = await self._call(lambda sandbox: sandbox.fork())
        made = twin(self)
        made._sandbox, made._lock, made._running = sandbox, threading.Lock(), None
        made._closed, made._switch = False, threading.Lock()
        return made

    async def snapshot(self) -> Snapshot:
        """The present state, for `restore`; see Sandbox.snapshot."""
        return await self._call(lambda sandbox: sandbox.snapshot())

    async def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot; see Sandbox.restore."""
        await self._call(lambda sandbox: sandbox.restore(snapshot))

    def interrupt(self) -> None:
        """Stop the running cell, from anywhere."""
        if self._sandbox is not None:
            self._sandbox.interrupt()

    async def close(self) -> None:
        """End the session. Idempotent; a cell that runs is stopped."""
        self._closed = True
        if (call := self._running) is not None:
            call.hush()
        closing = asyncio.ensure_future(in_thread(self._close))
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait([closing])
            raise

    def _close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
        with self._lock:  # a start that was on its way has ended by now
            if self._sandbox is not None:
                self._sandbox.close()

    async def _call(self, work: Callable[[Sandbox], T]) -> T:
        """`work(sandbox)` in a thread, in its turn.

        Cancelling it stops its cell, and waits until that has ended; cancelling it once more ends the wait alone.
        """
        call = _Call(asyncio.get_running_loop())

        def in_turn() -> T:
            with self._lock:
                self._running = call
                token = _calling.set(call)
                try:
                    call.begin()
                    return work(self._started())
                finally:
                    _calling.reset(token)
                    call.ended = True
                    with self._switch:
                        self._running = None

        running = asyncio.ensure_future(in_thread(in_turn))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # Marks it as retrieved: the caller gets the cancellation, not what it caused.
            running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            if call.cancel():
                # Not on this loop, which may end, and not in this task, which may be cancelled again.
                threading.Thread(target=self._stop, args=(call,), name="rlm_secure-stop", daemon=True).start()
                await asyncio.wait([running])
            raise
        except InThread as carried:
            raise carried.cause from None

    def _stop(self, call: _Call) -> None:
        """Interrupt the cell of `call`, and never that of the next one, until the call has ended."""
        while not call.ended:
            with self._switch:
                if self._running is call:
                    self.interrupt()
            time.sleep(_AGAIN_SECONDS)

    def _started(self) -> Sandbox:
        if self._closed:
            raise RuntimeError("the sandbox was closed; make a new one")
        if self._sandbox is None:
            tools = {name: self._tool(tool) for name, tool in (self._tools or {}).items()}
            self._sandbox = self._make(tools=tools)
        return self._sandbox

    def _tool(self, tool: Any) -> Any:
        """A coroutine function as a function that runs it on the caller's event loop; anything else as it is."""
        if not inspect.iscoroutinefunction(tool):
            return tool

        @functools.wraps(tool)
        def on_loop(*args: Any, **kwargs: Any) -> Any:
            call = _calling.get()  # not self._running: a fork of the sandbox has the same tools
            if call is None or call.ended:
                raise RuntimeError("the call was cancelled")
            future = asyncio.run_coroutine_threadsafe(tool(*args, **kwargs), call.loop)
            if on_abandon(future.cancel):
                future.cancel()
            return future.result()

        return on_loop

    def _listener(
        self, tell: Callable[[str], Awaitable[object] | object] | None, loop: asyncio.AbstractEventLoop
    ) -> Callable[[str], object] | None:
        if tell is None:
            return None

        async def told(text: str) -> None:
            said = tell(text)
            if inspect.isawaitable(said):
                await said

        def listen(text: str) -> None:
            future = asyncio.run_coroutine_threadsafe(told(text), loop)
            call = self._running
            if call is None or self._closed or call.listens(future):
                future.cancel()
            try:
                future.result()
            except concurrent.futures.CancelledError:
                raise RuntimeError("the call was cancelled") from None

        return listen

    async def __aenter__(self) -> Self:
        await self._call(lambda _sandbox: None)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()


class _Cancelled(Exception):
    """A call that was cancelled before its turn."""


class _Call:
    """One call of a sandbox, which is cancelled before it begins or while it runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.ended = False
        self._lock = threading.Lock()
        self._begun = self._over = False
        self._listening: concurrent.futures.Future[None] | None = None

    def begin(self) -> None:
        """Begin it, in its turn. Raises _Cancelled."""
        with self._lock:
            if self._over:
                raise _Cancelled
            self._begun = True

    def cancel(self) -> bool:
        """Returns whether it has begun; else it never will."""
        with self._lock:
            self._over = True
        self.hush()
        return self._begun

    def hush(self) -> None:
        """Let its cell wait for its listener no longer."""
        with self._lock:
            listening = self._listening
        if listening is not None:
            listening.cancel()

    def listens(self, future: concurrent.futures.Future[None]) -> bool:
        """Note the listener that its cell waits for. Returns whether the call is cancelled."""
        with self._lock:
            self._listening = future
            return self._over


#: The call of a sandbox that this thread makes; tools inherit it.
_calling: ContextVar[_Call | None] = ContextVar("rlm_secure_async_call", default=None)
