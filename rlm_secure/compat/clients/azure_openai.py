"""Upstream's `rlm.clients.azure_openai`."""

from __future__ import annotations

import importlib
from types import ModuleType

from rlm_secure.clients.azure_openai import AzureOpenAIClient

__all__ = ["AzureOpenAIClient"]


def __getattr__(name: str) -> ModuleType:
    # The SDK, imported on use, for tests that patch it.
    if name != "openai":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("openai")
