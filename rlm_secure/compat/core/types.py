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
from rlm_secure.types import json_safe as _serialize_value  # noqa: F401 - programs use it although it is private

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
