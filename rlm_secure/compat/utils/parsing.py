"""Upstream's `rlm.utils.parsing`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlm_secure.rlm.parsing import (
    check_for_final_answer,
    find_code_blocks,
    find_final_answer,
    format_execution_result,
    format_iteration,
)

__all__ = [
    "check_for_final_answer",
    "convert_context_for_repl",
    "find_code_blocks",
    "find_final_answer",
    "format_execution_result",
    "format_iteration",
]


def convert_context_for_repl(context: Any) -> tuple[Any, str | None]:
    """(None, text) for a context that is a str, else (data, None); chat messages become a list of their contents."""
    if isinstance(context, str):
        return None, context
    if isinstance(context, list) and context and isinstance(context[0], Mapping) and "content" in context[0]:
        return [message.get("content", "") for message in context], None
    return context, None
