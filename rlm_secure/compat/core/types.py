"""Upstream's `rlm.core.types`."""

from rlm_secure.types import (
    ClientBackend,
    CodeBlock,
    EnvironmentType,
    ModelUsageSummary,
    QueryMetadata,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    UsageSummary,
)

__all__ = [
    "ClientBackend",
    "CodeBlock",
    "EnvironmentType",
    "ModelUsageSummary",
    "QueryMetadata",
    "REPLResult",
    "RLMChatCompletion",
    "RLMIteration",
    "RLMMetadata",
    "UsageSummary",
]
