"""Upstream's `rlm.clients.openai`."""

from rlm_secure.clients.openai import OpenAIClient

__all__ = ["OpenAIClient"]
