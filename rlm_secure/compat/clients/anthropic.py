"""Upstream's `rlm.clients.anthropic`."""

from __future__ import annotations

import importlib
from types import ModuleType

from rlm_secure.clients.anthropic import AnthropicClient

__all__ = ["AnthropicClient"]


def __getattr__(name: str) -> ModuleType:
    # The SDK, imported on use, for tests that patch it.
    if name != "anthropic":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("anthropic")
