"""pydantic-monty: an interpreter of its own for a part of Python, in a worker process."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_monty import AsyncMonty, CollectString, MontyError

from benchmarks.peers.peer import MODEL_SECONDS, PROMPTS, Model, Open, Peer, Said, Session, told


class Adapter(Peer):
    """A pool for each session, so that a cold one pays for its worker; one shared pool for those from a pool."""

    packages = ("pydantic-monty",)
    batch = f"import asyncio\ngot = await asyncio.gather(*[llm_query('q') for _ in range({PROMPTS})])"

    def open(self, model: Model | None = None) -> Session:
        return Monty(self, AsyncMonty(max_processes=1), model)

    def pool(self) -> Open:
        runner = asyncio.Runner()
        pool = AsyncMonty(min_processes=4)
        runner.run(pool.__aenter__())
        return lambda: Monty(self, pool, None, runner)


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
            self._runner.run(pool.__aenter__())
        self._session = self._runner.run(pool.checkout(limits=limits).__aenter__())

    def run(self, code: str) -> Said:
        printed, error = CollectString(self._most), None
        bound, self._bound = self._bound, {}
        functions = {} if self._model is None else {"llm_query": self._ask}
        try:
            self._runner.run(
                self._session.feed_run(code, inputs=bound, external_lookup=functions, print_callback=printed)
            )
        except MontyError as raised:
            error = told(raised)
        return Said(printed.output, error)

    def load(self, text: str) -> None:
        self._bound = {"context": text}

    def close(self) -> None:
        self._runner.run(self._session.__aexit__(None, None, None))
        if self._own:
            self._runner.run(self._pool.__aexit__(None, None, None))
            self._runner.close()

    async def _ask(self, prompt: str) -> str:
        assert self._model is not None
        self._model.asked += 1
        await asyncio.sleep(MODEL_SECONDS)
        return f"reply to {prompt}"
