"""DSPy's PythonInterpreter: Pyodide (CPython as WebAssembly) in Deno, without any permission."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dspy.primitives.python_interpreter import PythonInterpreter

from benchmarks.peers.peer import Model, Peer, Said, Session, told

#: How many prompts dspy.RLM's own `llm_query_batched` asks at a time.
AT_A_TIME = 8


class Adapter(Peer):
    """One Deno process for each session. It has no limit of time, memory or output."""

    packages = ("dspy", "deno")

    def open(self, model: Model | None = None) -> Session:
        return Interpreter(model)

    def versions(self) -> dict[str, str]:
        return {**super().versions(), "pyodide": "0.29.4"}


class Interpreter(Session):
    """One interpreter; the context goes in with the next code, as dspy.RLM does it."""

    def __init__(self, model: Model | None) -> None:
        def llm_query(prompt: str) -> str:
            assert model is not None
            return model.one(prompt)

        def llm_query_batched(prompts: list) -> list[str]:  # type: ignore[type-arg] # a plain class crosses, no generic
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                return list(pool.map(llm_query, prompts))

        tools = {} if model is None else {"llm_query": llm_query, "llm_query_batched": llm_query_batched}
        self._interpreter = PythonInterpreter(tools=tools)
        self._bound: dict[str, Any] = {}
        self._interpreter.start()

    def run(self, code: str) -> Said:
        bound, self._bound = self._bound, {}
        try:
            said = self._interpreter.execute(code, bound)
        except Exception as raised:
            return Said(error=told(raised))
        return Said("" if said is None else str(said))

    def load(self, text: str) -> None:
        self._bound = {"context": text}

    def close(self) -> None:
        self._interpreter.shutdown()
        process = self._interpreter.deno_process
        if process is not None:
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()
