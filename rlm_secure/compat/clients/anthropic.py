"""Upstream's `rlm.clients.anthropic`."""

from rlm_secure.clients.anthropic import AnthropicClient

__all__ = ["AnthropicClient"]
