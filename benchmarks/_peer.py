"""One completion on a fake model, with `rlm_secure` or upstream's `rlm`, as the argument says.

`python _peer.py rlm` reads the name of a workload per line and answers each with its duration in seconds. It imports
only the standard library and the package itself, so that it runs in upstream's own venv.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from typing import Any

MODEL_SECONDS = 0.05
ROOT = "the root's question"

#: The root's cell and the options of each workload. A child calls the model once, and answers.
WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "batch": ("got = llm_query_batched(['q'] * 64)", {}),
    "children": ("got = rlm_query_batched(['c'] * 16)", {"max_depth": 2, "max_concurrent_subcalls": 16}),
    "turn": ("got = ['x']", {}),
}
ANSWER = "answer['content'] = str(len(got))\nanswer['ready'] = True"
CHILD = f"got = llm_query('q')\n{ANSWER}"


def fake_client(package: str, root_cell: str) -> type[Any]:
    """A client class whose sub-calls take MODEL_SECONDS and whose turns take no time."""
    base = importlib.import_module(f"{package}.clients{'.base' if package == 'rlm_secure' else '.base_lm'}").BaseLM
    types = importlib.import_module("rlm_secure.types" if package == "rlm_secure" else "rlm.core.types")

    class FakeClient(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(model_name="fake")

        def _turn(self, prompt: Any) -> str | None:
            if isinstance(prompt, str):
                return None
            cell = root_cell if any(ROOT in str(message["content"]) for message in prompt) else CHILD
            return f"```repl\n{cell}\n{ANSWER}\n```"

        def completion(self, prompt: Any) -> str:
            turn = self._turn(prompt)
            if turn is None:
                time.sleep(MODEL_SECONDS)
            return turn or "reply"

        async def acompletion(self, prompt: Any) -> str:
            turn = self._turn(prompt)
            if turn is None:
                await asyncio.sleep(MODEL_SECONDS)
            return turn or "reply"

        def get_usage_summary(self) -> Any:
            return types.UsageSummary(model_usage_summaries={"fake": self.get_last_usage()})

        def get_last_usage(self) -> Any:
            return types.ModelUsageSummary(1, 1, 1)

    return FakeClient


def prepare(package: str, workload: str) -> Any:
    """A function that runs the workload once and returns its seconds."""
    cell, options = WORKLOADS[workload]
    loop = importlib.import_module("rlm_secure.rlm.rlm" if package == "rlm_secure" else "rlm.core.rlm")
    client = fake_client(package, cell)
    expected = {"batch": "64", "children": "16", "turn": "1"}[workload]

    def once() -> float:
        real = loop.get_client
        loop.get_client = lambda *_: client()
        try:
            begun = time.perf_counter()
            done = loop.RLM(backend="openai", backend_kwargs={"model_name": "fake"}, **options).completion("x", ROOT)
            seconds = time.perf_counter() - begun
        finally:
            loop.get_client = real
        if done.response != expected:
            raise RuntimeError(f"{package} answered {done.response!r}, not {expected!r}")
        return seconds

    return once


if __name__ == "__main__":
    known: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        known[name] = known.get(name) or prepare(sys.argv[1], name)
        print(known[name](), flush=True)
