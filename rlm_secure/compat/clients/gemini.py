"""Upstream's `rlm.clients.gemini`."""

from rlm_secure.clients.gemini import GeminiClient

__all__ = ["GeminiClient"]
