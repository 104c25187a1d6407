"""Upstream's `rlm.clients.gemini`."""

from __future__ import annotations

import importlib
from types import ModuleType

from rlm_secure.clients.gemini import GeminiClient

__all__ = ["GeminiClient"]


def __getattr__(name: str) -> ModuleType:
    # The SDK, imported on use, for tests that patch it.
    if name != "genai":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("google.genai")
