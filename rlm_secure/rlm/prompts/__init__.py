"""The prompts: upstream's two builder functions, and three sets of texts.

`prompt_set(name)` returns a set whose methods write every message of a run; `describe_session(policy)` writes the
section on the sandbox, which is left out unless the caller passes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlm_secure.rlm.prompts.session import describe_session
from rlm_secure.rlm.prompts.sets import Message, PromptSet, fill, prompt_set, tools_section
from rlm_secure.rlm.prompts.texts import ADDENDUM as ORCHESTRATOR_ADDENDUM
from rlm_secure.rlm.prompts.texts import SYSTEM as RLM_SYSTEM_PROMPT
from rlm_secure.rlm.prompts.texts import SYSTEM_FINAL as RLM_SYSTEM_PROMPT_FINAL
from rlm_secure.types import QueryMetadata

_OURS = PromptSet()


def build_rlm_system_prompt(
    system_prompt: str,
    query_metadata: QueryMetadata,
    custom_tools: Mapping[str, Any] | None = None,
    root_prompt: str | None = None,
    orchestrator: bool = True,
) -> list[Message]:
    """The first two messages of a run, as upstream builds them: the system message, and the one on the material."""
    return _OURS.opening(
        query_metadata,
        system_prompt=system_prompt,
        custom_tools=custom_tools,
        root_prompt=root_prompt,
        orchestrator=orchestrator,
    )


def build_user_prompt(
    root_prompt: str | None = None,
    iteration: int = 0,
    context_count: int = 1,
    history_count: int = 0,
    max_iterations: int = 30,
) -> Message:
    """The message that opens turn `iteration`, counted from 0, as upstream builds it."""
    return _OURS.turn(root_prompt, iteration, context_count, history_count, max_iterations)


__all__ = [
    "ORCHESTRATOR_ADDENDUM",
    "RLM_SYSTEM_PROMPT",
    "RLM_SYSTEM_PROMPT_FINAL",
    "Message",
    "PromptSet",
    "QueryMetadata",
    "build_rlm_system_prompt",
    "build_user_prompt",
    "describe_session",
    "fill",
    "prompt_set",
    "tools_section",
]
