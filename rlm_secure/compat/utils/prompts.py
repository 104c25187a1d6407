"""Upstream's `rlm.utils.prompts`: its names, our texts."""

from typing import Final

from rlm_secure.rlm.prompts import (
    ORCHESTRATOR_ADDENDUM,
    RLM_SYSTEM_PROMPT,
    QueryMetadata,
    build_rlm_system_prompt,
    build_user_prompt,
)

#: Upstream's line above each turn, for programs that print it.
USER_PROMPT: Final = "Turn {iter_1}/{max_iter}:"

__all__ = [
    "ORCHESTRATOR_ADDENDUM",
    "RLM_SYSTEM_PROMPT",
    "USER_PROMPT",
    "QueryMetadata",
    "build_rlm_system_prompt",
    "build_user_prompt",
]
