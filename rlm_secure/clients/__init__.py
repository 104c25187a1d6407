"""Backends: one file each. `get_client` finds one by upstream's name and imports nothing before that."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from rlm_secure.clients.base import BaseLM, Client, Completion, adapt

__all__ = ["BACKENDS", "BaseLM", "Client", "Completion", "adapt", "get_client"]

#: Where each backend lives, and what it needs said beyond the user's own words.
_PLACES: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "openai": ("openai", "OpenAIClient", {}),
    "openrouter": ("openai", "OpenAIClient", {"base_url": "https://openrouter.ai/api/v1"}),
    "vercel": ("openai", "OpenAIClient", {"base_url": "https://ai-gateway.vercel.sh/v1"}),
    "vllm": ("openai", "OpenAIClient", {"api_key": "none"}),
    "anthropic": ("anthropic", "AnthropicClient", {}),
    "azure_openai": ("azure_openai", "AzureOpenAIClient", {}),
    "gemini": ("gemini", "GeminiClient", {}),
    "portkey": ("portkey", "PortkeyClient", {}),
    "litellm": ("litellm", "LiteLLMClient", {}),
    "scripted": ("scripted", "ScriptedClient", {}),
}

BACKENDS: Final = tuple(_PLACES)


def get_client(backend: str, backend_kwargs: Mapping[str, Any] | None = None) -> BaseLM:
    """A client of `backend`, made with `backend_kwargs`, which are not changed.

    Raises ValueError for an unknown backend or a missing argument, MissingExtra where its package is not
    installed, ProviderError where it has no key. No `.env` file is read.
    """
    if backend not in _PLACES:
        raise ValueError(f"Unknown backend: {backend}. Supported backends: {', '.join(BACKENDS)}")
    module, name, defaults = _PLACES[backend]
    arguments = {**defaults, **(backend_kwargs or {})}
    if backend == "vllm" and not arguments.get("base_url"):
        raise ValueError("the vllm backend needs backend_kwargs['base_url'], the address of your server")
    client: BaseLM = getattr(import_module(f"{__name__}.{module}"), name)(**arguments)
    return client
