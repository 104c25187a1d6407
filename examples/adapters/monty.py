"""Monty: an interpreter of its own for a part of Python, in a worker process (pip install pydantic-monty).

    rlm-secure audit --env examples.adapters.monty:open_session

A session is a REPL: names stay. Monty fixes a session's limits when it is checked out, so those of the first run
hold for all. Its clock stands still while code sleeps; whatever is late all the same ends with its worker, and the
session with it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_monty import AsyncMonty, AsyncMontySession, CollectStreams, MontyCrashedError, MontyError

from rlm_secure.testing import Adapter, Limits, Said

GRACE_SECONDS = 0.5


class Monty(Adapter):
    """A pool of one worker, and one session in it."""

    def __init__(self) -> None:
        self._loop = asyncio.Runner()
        self._pool = AsyncMonty(max_processes=1)
        self._session: AsyncMontySession | None = None
        self._inputs: dict[str, Any] = {}
        self._over: str | None = None
        self._limits = Limits(seconds=10.0, memory_bytes=256 << 20, stdout_bytes=10 << 20)
        self._loop.run(self._enter())

    def run(self, code: str, timeout: float) -> Said:
        """Feed `code` to the session. A limit of Monty's leaves the session alive; a crash does not."""
        if self._over:
            return Said(error=self._over)
        printed = CollectStreams(self._limits.stdout_bytes)
        error: str | None = None
        try:
            self._loop.run(self._feed(code, timeout, printed))
        except TimeoutError:
            error = self._over = f"stopped after {timeout:g} s, and the session with it"
        except MontyCrashedError as raised:
            error = self._over = f"the worker crashed: {raised}"
        except MontyError as raised:
            inner = raised.exception()
            error = f"{type(inner).__name__}: {inner}"
        return Said(
            "".join(text for stream, text in printed.output if stream == "stdout"),
            "".join(text for stream, text in printed.output if stream == "stderr"),
            error,
        )

    def limit(self, limits: Limits) -> None:
        """Monty bounds its own heap, and what it collects of what is printed."""
        self._limits = limits

    def load_context(self, context: Any) -> None:
        """Bind it when the next code is fed."""
        self._inputs = {"context": context}

    def close(self) -> None:
        """End the session and the pool with its worker."""
        try:
            self._loop.run(self._leave())
        finally:
            self._loop.close()

    async def _enter(self) -> None:
        await self._pool.__aenter__()

    async def _feed(self, code: str, timeout: float, printed: CollectStreams) -> None:
        session = self._session
        if session is None:
            limits = {"max_feed_duration_secs": timeout, "max_memory": self._limits.memory_bytes}
            session = self._session = await self._pool.checkout(limits=limits).__aenter__()
        inputs, self._inputs = self._inputs, {}
        feeding = session.feed_run(code, inputs=inputs, print_callback=printed)
        await asyncio.wait_for(feeding, timeout + GRACE_SECONDS)

    async def _leave(self) -> None:
        if self._session is not None:
            await self._session.__aexit__(None, None, None)
        await self._pool.__aexit__(None, None, None)


def open_session() -> Adapter:
    """A session of Monty's REPL."""
    return Monty()
