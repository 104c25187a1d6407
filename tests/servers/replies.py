"""What the servers of other providers than OpenAI answer: the body of one reply with this text, in each one's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def anthropic_says(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None,
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text[:1]},
            {"type": "text", "text": text[1:]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 2, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100},
    }  # fmt: skip


def gemini_says(text: str) -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, {"text": text[:1]}, {"text": text[1:]}]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 113, "candidatesTokenCount": 1, "thoughtsTokenCount": 1},
    }


def openai_says(text: str) -> dict[str, Any]:
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 113, "completion_tokens": 2, "total_tokens": 115},
    }  # fmt: skip


SAYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "anthropic": anthropic_says,
    "gemini": gemini_says,
    "azure_openai": openai_says,
    "portkey": openai_says,
}
