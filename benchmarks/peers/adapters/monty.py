"""pydantic-monty: an interpreter of its own for a part of Python, in a worker process."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_monty import AsyncMonty, CollectString, MontyError

from benchmarks.peers.peer import MODEL_SECONDS, PROMPTS, Limits, Model, Open, Peer, Said, Session, told


class Adapter(Peer):
    """A pool for each session, so that a cold one pays for its worker; one shared pool for those from a pool."""

    packages = ("pydantic-monty",)
    batch = f"import asyncio\ngot = await asyncio.gather(*[llm_query('q') for _ in range({PROMPTS})])"

    def open(self, model: Model | None = None) -> Session:
        return Monty(self, AsyncMonty(max_processes=1), model)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._shared: tuple[AsyncMonty, asyncio.Runner] | None = None

    def pool(self) -> Open:
        if self._shared is None:
            self._shared = AsyncMonty(min_processes=4, max_processes=8), asyncio.Runner()
            self._shared[1].run(entered(self._shared[0]))
        pool, runner = self._shared
        return lambda: Monty(self, pool, None, runner)

    def close(self) -> None:
        if self._shared is not None:
            pool, runner = self._shared
            self._shared = None
            runner.run(left(pool))
            runner.close()


class Monty(Session):
    """One checked-out session."""

    def __init__(self, peer: Peer, pool: Any, model: Model | None, runner: asyncio.Runner | None = None) -> None:
        self._pool, self._model = pool, model
        self._own = runner is None
        self._runner = runner or asyncio.Runner()
        self._most = peer.limits.output_bytes
        self._bound: dict[str, Any] = {}
        limits = {"max_feed_duration_secs": peer.limits.seconds, "max_memory": peer.limits.memory_bytes}
        if self._own:
            self._runner.run(entered(pool))
        self._session = self._runner.run(checked_out(pool, limits))

    def run(self, code: str) -> Said:
        printed, error = CollectString(self._most), None
        bound, self._bound = self._bound, {}
        functions = {} if self._model is None else {"llm_query": self._ask}
        try:
            self._runner.run(self._feed(code, inputs=bound, external_lookup=functions, print_callback=printed))
        except MontyError as raised:
            error = told(raised)
        return Said(printed.output, error)

    def load(self, text: str) -> None:
        self._bound = {"context": text}

    def close(self) -> None:
        self._runner.run(left(self._session))
        if self._own:
            self._runner.run(left(self._pool))
            self._runner.close()

    async def _feed(self, code: str, **options: Any) -> None:
        await self._session.feed_run(code, **options)

    async def _ask(self, prompt: str) -> str:
        assert self._model is not None
        self._model.asked += 1
        await asyncio.sleep(MODEL_SECONDS)
        return f"reply to {prompt}"


# Monty makes what it awaits inside of a running loop only, so each call has a coroutine of ours around it.


async def entered(pool: Any) -> None:
    """Start a pool."""
    await pool.__aenter__()


async def checked_out(pool: Any, limits: dict[str, Any]) -> Any:
    """A session of a pool."""
    return await pool.checkout(limits=limits).__aenter__()


async def left(opened: Any) -> None:
    """End a session or a pool."""
    await opened.__aexit__(None, None, None)
