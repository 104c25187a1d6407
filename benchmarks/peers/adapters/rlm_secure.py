"""Ours: rlm_secure's `local` environment under the policy `strict`, every wall on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from benchmarks.peers.peer import Limits, Missing, Model, Open, Peer, Said, Session


class Adapter(Peer):
    """`strict`, with the limits that the driver tells, and cells enough for a benchmark."""

    packages = ("rlm-secure",)

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        import rlm_secure

        self._sandbox: Callable[..., Any] = rlm_secure.Sandbox
        self._policies = {size: self._policy(rlm_secure.Policy.load("strict"), limits, size) for size in (0, 8)}

    def open(self, model: Model | None = None) -> Session:
        if model is not None:
            return WithModel(self._policies[0], model)
        return Plain(self._sandbox, self._policies[0])

    def pool(self) -> Open:
        from rlm_secure.environments.local import pool

        self._sandbox(policy=self._policies[8]).close()  # the pool begins to fill

        def opened() -> Session:
            return Plain(self._sandbox, self._policies[8])

        def full() -> bool:
            return pool.ready() >= 8

        deadline = time.monotonic() + 5
        while not full():
            if time.monotonic() > deadline:
                raise Missing("its pool did not fill")
            time.sleep(0.005)
        return opened

    def close(self) -> None:
        from rlm_secure.environments.local import pool

        pool.drain()

    @staticmethod
    def _policy(base: Any, limits: Limits, size: int) -> Any:
        own = {"cells": 1_000_000, "resumes": 1_000_000, "session_cpu_seconds": 3_600.0}
        own |= {"cell_seconds": limits.seconds, "cell_cpu_seconds": limits.seconds}
        own |= {"memory_bytes": limits.memory_bytes, "stdout_bytes": limits.output_bytes}
        return base.model_copy(
            update={
                "limits": base.limits.model_copy(update=own),
                "isolation": base.isolation.model_copy(update={"pool": size}),
                "lm": base.lm.model_copy(update={"calls": 100_000, "concurrency": 64}),
            }
        )


class Plain(Session):
    """A Sandbox. A context is given to a new one, as `Sandbox(context=...)` takes it, and that is part of its time."""

    def __init__(self, sandbox: Callable[..., Any], policy: Any) -> None:
        self._sandbox, self._policy = sandbox, policy
        self._opened = [sandbox(policy=policy)]

    def run(self, code: str) -> Said:
        result = self._opened[-1].run(code)
        return Said(result.stdout, None if result.error is None else f"{type(result.error).__name__}: {result.error}")

    def load(self, text: str) -> None:
        self._opened.append(self._sandbox(policy=self._policy, context=text))

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()


class WithModel(Session):
    """The REPL of a run, whose calls its own handler serves."""

    def __init__(self, policy: Any, model: Model) -> None:
        from benchmarks._peer import fake_client
        from rlm_secure.environments import get_environment
        from rlm_secure.rlm.handler import LMHandler

        class Counting(fake_client("rlm_secure", "")):  # type: ignore[misc]
            def completion(self, prompt: Any) -> str:
                model.asked += 1
                return str(super().completion(prompt))

            async def acompletion(self, prompt: Any) -> str:
                model.asked += 1
                return str(await super().acompletion(prompt))

        self._own = contextlib.ExitStack()
        handler = self._own.enter_context(LMHandler(Counting(), batch_max_concurrent=policy.lm.concurrency))
        self._repl = self._own.enter_context(get_environment("local", {"calls": handler, "policy": policy}))

    def run(self, code: str) -> Said:
        result = self._repl.execute_code(code)
        return Said(result.stdout, None if result.error is None else f"{type(result.error).__name__}: {result.error}")

    def load(self, text: str) -> None:
        self._repl.load_context(text)

    def close(self) -> None:
        self._own.close()
