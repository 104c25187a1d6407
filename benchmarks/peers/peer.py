"""What an adapter implements. Imports only the standard library: it runs in the interpreter of each peer."""

from __future__ import annotations

import importlib.metadata
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

MODEL_SECONDS = 0.05
"""How long a model call takes, in seconds."""
PROMPTS = 64
"""How many calls a batch has."""


class Said(NamedTuple):
    """What one cell printed, and the error that ended it (None if none did)."""

    stdout: str = ""
    error: str | None = None


class Limits(NamedTuple):
    """What a peer is told to allow a cell, as far as it can be told: seconds, bytes of memory and output, processes."""

    seconds: float
    memory_bytes: int
    output_bytes: int
    processes: int


class Missing(Exception):
    """The peer has no such thing. The message is the reason, for the table."""


class Model:
    """A model whose answers take MODEL_SECONDS. `asked` counts its prompts."""

    def __init__(self) -> None:
        self.asked = 0

    def one(self, prompt: str) -> str:
        """Answer one prompt."""
        self.asked += 1
        time.sleep(MODEL_SECONDS)
        return f"reply to {prompt}"

    def many(self, prompts: Sequence[str]) -> list[str]:
        """Answer all prompts at the same time."""
        with ThreadPoolExecutor(max(len(prompts), 1)) as pool:
            return list(pool.map(self.one, prompts))


class Session(ABC):
    """One session: variables stay from cell to cell."""

    @abstractmethod
    def run(self, code: str) -> Said:
        """Run a cell. One that takes longer than the limits say is an error, as far as the peer can stop it."""

    @abstractmethod
    def load(self, text: str) -> None:
        """Bind a long text to the variable `context`, as the peer's users would. Raises Missing."""

    @abstractmethod
    def close(self) -> None:
        """End the session, and every process that it started."""


Open: TypeAlias = Callable[[], Session]


class Peer(ABC):
    """One sandbox. Constructed once in a host process, which opens many sessions with it."""

    #: Distributions whose versions the table shows.
    packages: tuple[str, ...] = ()
    #: The cell that asks the model PROMPTS times at once.
    batch = f"got = llm_query_batched(['q'] * {PROMPTS})"

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @abstractmethod
    def open(self, model: Model | None = None) -> Session:
        """Open a session; with a model, its cells can ask it. Raises Missing if they cannot."""

    def pool(self) -> Open:
        """A function that opens a session from a pool that is full. Raises Missing if there is no pool."""
        raise Missing("it has no pool")

    def versions(self) -> dict[str, str]:
        """What the table says of the versions."""
        return {name: importlib.metadata.version(name) for name in self.packages}

    def close(self) -> None:  # noqa: B027 - most have nothing
        """End what the peer keeps between sessions."""


def told(error: BaseException) -> str:
    """The type and the message of an exception, whose own methods may raise as well."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return "an exception that does not let itself be shown"


def plain_text(value: Any) -> str:
    """Text without what JSON cannot carry."""
    return str(value).encode("utf-8", "backslashreplace").decode()
