"""What the scripted models of the tests in this folder do on a node: they note each call in a file that all share."""

from __future__ import annotations

import gc
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import ray

from rlm_secure.scale.node import Node


def note(path: str, text: str) -> None:
    """Append a line, whole."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{ray.get_runtime_context().get_node_id()} {text}\n".encode())
    os.close(descriptor)


def reply(path: str, seconds: float, prompt: str) -> str:
    """A model that takes some time."""
    note(path, f"call {prompt}")
    time.sleep(seconds)
    return prompt.upper()


def reply_or_hang(path: str, doomed: str, calls: int, prompt: str) -> str:
    """The same; after so many calls on the node that is doomed, its calls never end. Others leave it some of the work."""
    answer = reply(path, 0.02, prompt)
    if ray.get_runtime_context().get_node_id() == doomed:
        if len(lines(path, doomed)) > calls:
            note(path, f"hangs {prompt}")
            time.sleep(120)
        return answer
    while len(lines(path)) > 24 and len(lines(path, doomed, "hangs")) < 2:
        time.sleep(0.05)
    return answer


def reply_or_never(path: str, prompt: str) -> str:
    """A model whose calls for some prompts never end."""
    note(path, f"call {prompt}")
    time.sleep(120 * prompt.startswith("never"))
    return prompt.upper()


def reply_on(path: str, nodes: int, most: int, prompt: str) -> str:
    """A model that has nothing to say before so many nodes have asked it, or it has been asked so often."""
    note(path, f"call {prompt}")
    time.sleep(0.05)
    note(path, f"done {prompt}")
    asked = {line.split(" ", 1)[0] for line in Path(path).read_text().splitlines()}
    return prompt.upper() if len(asked) >= nodes or lines(path).count(prompt) >= most else ""


def reply_after(path: str, file: str, prompt: str) -> str:
    """A model that answers when a file is there."""
    note(path, f"call {prompt}")
    deadline = time.monotonic() + 90
    while not Path(file).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return prompt.upper()


def hang(path: str, prompt: str) -> str:
    """A model that does not answer; it notes the folder of its node's log files."""
    (node,) = [each for each in gc.get_objects() if isinstance(each, Node)]
    note(path, f"folder {node._logs}")
    time.sleep(120)
    return prompt


def lines(path: Any, node: str = "", kind: str = "call") -> list[str]:
    """The prompts of the notes of one kind, of one node or of all."""
    noted = [line.split(" ", 2) for line in Path(path).read_text().splitlines()] if Path(path).exists() else []
    return [prompt for where, what, prompt in noted if what == kind and where.startswith(node)]


def replies(path: Any, seconds: float = 0.0) -> Any:
    """A model for `backend_kwargs["replies"]`."""
    return partial(reply, str(path), seconds)


def together(path: Any, node: str = "") -> int:
    """The most calls that were in flight at the same time."""
    now = most = 0
    for line in Path(path).read_text().splitlines():
        if line.startswith(node):
            now += 1 if line.split(" ", 2)[1] == "call" else -1
            most = max(most, now)
    return most
