"""Compaction: measures how full the model's context is, and replaces a conversation with its summary.

Pure functions on lists of messages. The loop decides when to call them, and keeps the removed messages in the
variable `history`.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from rlm_secure.rlm.prompts import Message
from rlm_secure.turns import Messages

#: The context length of a model, in tokens, by the longest of these keys that its name contains at a word's start.
CONTEXT_LIMITS: Final[Mapping[str, int]] = {
    "claude": 200_000,
    "command-r": 128_000,
    "deepseek": 128_000,
    "gemini": 1_048_576,
    "gemma-3": 131_072,
    "glm-4": 131_072,
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-4o": 128_000,
    "gpt-5": 272_000,
    "gpt-oss": 131_072,
    "grok-3": 131_072,
    "grok-4": 256_000,
    "kimi-k2": 262_144,
    "llama-3": 131_072,
    "llama-4": 1_048_576,
    "mistral": 131_072,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "phi-4": 16_384,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
    "qwen3-coder": 262_144,
}
DEFAULT_CONTEXT_LIMIT: Final = 128_000

Grown = TypeVar("Grown", list[Message], Messages)

#: Tokens that a provider adds around each message.
_PER_MESSAGE: Final = 4
#: A tokenizer's time may grow with the square of a text's length, so text is counted in pieces of so many characters.
_PIECE: Final = 4_096

_REQUEST: Final = (
    "This conversation is about to be cut: everything after its opening will be removed, and your next reply will "
    "stand in its place. Write that reply for yourself, without any code block. Say what was asked; what you have "
    "found so far, with the exact figures, names and quotations; which variables of the session hold what, by name; "
    "what you tried that led nowhere; and what you were about to do. The session keeps all its variables. Do not "
    "answer the question yet."
)
_CONTINUE: Final = (
    "Above is your own summary of the turns before this one; they were removed from the conversation (cut number "
    "{count}). All variables of the session are as you left them, and `history` holds what was removed. Go on from "
    "there."
)


def get_context_limit(model: str) -> int:
    """The context length of `model` in tokens, by its name; DEFAULT_CONTEXT_LIMIT for an unknown name."""
    name = model.lower()
    known = [key for key in CONTEXT_LIMITS if re.search(rf"(?<![a-z0-9]){re.escape(key)}", name)]
    return CONTEXT_LIMITS[max(known, key=len)] if known else DEFAULT_CONTEXT_LIMIT


def count_tokens(messages: Sequence[Mapping[str, Any]], model: str = "") -> int:
    """Tokens of `messages`: counted if the tiktoken package knows `model`, else a quarter of the characters."""
    return TokenCount(model).of(messages)


class TokenCount:
    """As count_tokens(), for a conversation that grows: a message of Messages is counted once."""

    def __init__(self, model: str = "") -> None:
        self._counter = _counter(model)

    def of(self, messages: Sequence[Mapping[str, Any]]) -> int:
        """Tokens of `messages`."""
        measured = self._measured
        total = messages.total(measured) if isinstance(messages, Messages) else sum(map(measured, messages))
        return (math.ceil(total / 4) if self._counter is None else total) + _PER_MESSAGE * len(messages)

    def _measured(self, message: Mapping[str, Any]) -> int:
        """Tokens of a message's text; its characters where there is no counter."""
        text = _text(message.get("content"))
        if self._counter is None:
            return len(text)
        return sum(self._counter(text[begin : begin + _PIECE]) for begin in range(0, len(text), _PIECE))


def should_compact(
    messages: Sequence[Mapping[str, Any]],
    model: str,
    threshold_pct: float = 0.85,
    *,
    limit: int | None = None,
    count: TokenCount | None = None,
) -> bool:
    """Whether `messages` fill `threshold_pct` (0 to 1) of the model's context; `limit` (tokens) overrides the table.

    `count` counts the tokens of `model`; one that is kept counts each message once.
    """
    tokens = (count or TokenCount(model)).of(messages)
    return tokens >= int(threshold_pct * (limit or get_context_limit(model)))


def summary_request(messages: Grown) -> Grown:
    """What to send for a summary: the conversation, and the request for one."""
    return messages + [{"role": "user", "content": _REQUEST}]


def compacted(messages: Sequence[Message], opening: int, summary: str, count: int) -> list[Message]:
    """The conversation after compaction: its first `opening` messages (prologue included), the summary, a reminder.

    `count` is how often this conversation has been compacted, this time included.
    """
    return [
        *(dict(message) for message in messages[:opening]),
        {"role": "assistant", "content": summary},
        {"role": "user", "content": _CONTINUE.format(count=count)},
    ]


def history_entries(removed: Sequence[Message], summary: str) -> list[Any]:
    """What goes into the variable `history`: the removed messages as one list, and the summary that replaced them."""
    return [[dict(message) for message in removed], {"type": "summary", "content": summary}]


def _text(content: Any) -> str:
    """A message's text: content is a string, or a list of parts of which some have a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


@functools.lru_cache(maxsize=32)
def _counter(model: str) -> Callable[[str], int] | None:
    """A function that counts the tokens of a text for `model`; None without tiktoken or for an unknown model."""
    if not model:
        return None
    try:
        encoding = importlib.import_module("tiktoken").encoding_for_model(model)
    except Exception:  # noqa: BLE001  an unknown model, or a vocabulary that cannot be loaded: estimate instead
        return None
    return lambda text: len(encoding.encode(text, disallowed_special=()))
