"""smolagents' two agents on scripted replies: reads a JSON list of cases, prints a line of JSON for each.

Imports only the standard library and smolagents, so that it runs in smolagents' own venv. Each case has a process of
its own, with SECONDS and MEMORY.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator
from typing import Any

from smolagents import ChatMessage, CodeAgent, Model, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import LogLevel

SECONDS = 45.0
MEMORY = 3 << 30

RAN: list[str] = []


def tools(case: dict[str, Any]) -> list[Any]:
    """The tools of the comparison."""

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: one
            b: the other
        """
        RAN.append("add")
        return a + b

    @tool
    def broken() -> str:
        """Always fails."""
        raise RuntimeError(os.environ["DEMO_SECRET"])

    @tool
    def look() -> str:
        """Look something up."""
        RAN.append("look")
        return str(case["hostile"])

    return [add, broken, look]


class Scripted(Model):  # type: ignore[misc]
    """The case's reply first, then the answer "recovered"."""

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__(model_id="scripted")
        self.case = case
        self.asked = 0

    def generate(self, *_: Any, **__: Any) -> ChatMessage:
        self.asked += 1
        first = self.asked == 1 or self.case["always"]
        if self.case["column"] == "CodeAgent":
            code = self.case["code"] if first else "final_answer('recovered')"
            plain = self.case["content"] if first and code is None else None
            text = plain if plain is not None else f"Thought: I go on.\n<code>\n{code}\n</code>"
            return ChatMessage(role=MessageRole.ASSISTANT, content=text)
        given = self.case["calls"] if first else [["final_answer", '{"answer": "recovered"}']]
        made = [
            ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), f"call_{self.asked}_{index}", "function")
            for index, (name, arguments) in enumerate(given)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content=self.case["content"] if first else "", tool_calls=made)


def run(case: dict[str, Any]) -> dict[str, Any]:
    """What became of the case."""
    kind = CodeAgent if case["column"] == "CodeAgent" else ToolCallingAgent
    agent = kind(tools=tools(case), model=Scripted(case), max_steps=case["steps"], verbosity_level=LogLevel.OFF)
    seen: dict[str, Any] = {"answer": None, "error": None, "told": None}
    try:
        seen["answer"] = agent.run("q")
    except BaseException as error:
        seen["error"] = type(error).__name__
    steps = [step for step in agent.memory.steps if hasattr(step, "observations")]
    told = [str(step.error or step.observations or "") for step in steps]
    if steps and (len(steps) > 1 or steps[0].error):
        seen["told"] = told[0][:2_000]
    seen["leaked"] = case["secret"] in "".join([*told, str(seen["answer"])])
    seen["answer"] = json.loads(json.dumps(seen["answer"], default=str))
    if isinstance(seen["answer"], str):
        seen["answer"] = seen["answer"][:2_000]
    seen["ran"] = len(RAN)
    return seen


def bounded(case: dict[str, Any]) -> dict[str, Any]:
    """run(), in a process with limits."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.write(writing, json.dumps(run(case)).encode())
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], SECONDS)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as stream:
        text = stream.read() if ready else b""
    _, _, used = os.wait4(child, 0)
    lost = {"error": f"never returned (stopped after {SECONDS:.0f} s)" if not ready else "its process died"}
    seen: dict[str, Any] = json.loads(text) if text else lost
    if used.ru_maxrss > 1 << 20:
        seen["error"] = f"{seen.get('error') or 'went on'} after {used.ru_maxrss >> 10:,} MiB (3 GiB allowed)"
    seen["marked"] = os.path.exists(case["mark"])
    with contextlib.suppress(FileNotFoundError):
        os.unlink(case["mark"])
    return {"column": case["column"], "name": case["name"], **seen}


def results() -> Iterator[dict[str, Any]]:
    """All cases of stdin, in turn."""
    for case in json.load(sys.stdin):
        yield bounded(case)


if __name__ == "__main__":
    for each in results():
        print(json.dumps(each), flush=True)
