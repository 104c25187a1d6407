"""Backends, one file each. `get_client` finds one by upstream's name; its module is imported only then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from rlm_secure import registry
from rlm_secure.clients.base import BaseLM, Client, Completion, adapt
from rlm_secure.registry import PluginGroup
from rlm_secure.types import ClientBackend

__all__ = [
    "BACKENDS",
    "BaseLM",
    "Client",
    "Completion",
    "adapt",
    "get_client",
    "model_of",
    "others_with_sampling",
    "with_sampling",
]

#: The module, class and default arguments of each backend.
_PLACES: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "openai": ("openai", "OpenAIClient", {}),
    "openrouter": ("openai", "OpenAIClient", {"base_url": "https://openrouter.ai/api/v1"}),
    "vercel": ("openai", "OpenAIClient", {"base_url": "https://ai-gateway.vercel.sh/v1"}),
    "vllm": ("openai", "OpenAIClient", {"api_key": "none"}),
    "anthropic": ("anthropic", "AnthropicClient", {}),
    "azure_openai": ("azure_openai", "AzureOpenAIClient", {}),
    "gemini": ("gemini", "GeminiClient", {"model_name": "gemini-2.5-flash"}),
    "portkey": ("portkey", "PortkeyClient", {}),
    "litellm": ("litellm", "LiteLLMClient", {}),
    "scripted": ("scripted", "ScriptedClient", {"model_name": "scripted"}),
}

BACKENDS: Final = tuple(_PLACES)
"""The names of our clients."""


def get_client(backend: ClientBackend | str, backend_kwargs: Mapping[str, Any] | None = None) -> BaseLM:
    """Create a client of `backend` from `backend_kwargs`, which are not modified.

    Backends of other distributions are registered as entry points, see rlm_secure.registry. Raises ValueError for an
    unknown backend, one of another distribution that cannot be used, or a missing argument, MissingExtra if its
    package is not installed, MissingKey if it has no API key. No `.env` file is read.
    """
    if backend not in _PLACES:
        return _plugin(backend)(**(backend_kwargs or {}))
    module, name, defaults = _PLACES[backend]
    arguments = {**defaults, **(backend_kwargs or {})}
    if backend == "vllm" and not arguments.get("base_url"):
        raise ValueError("the vllm backend needs backend_kwargs['base_url'], the address of your server")
    client: BaseLM = getattr(import_module(f"{__name__}.{module}"), name)(**arguments)
    return client


def model_of(backend: ClientBackend | str, backend_kwargs: Mapping[str, Any]) -> str:
    """The model that a client of get_client() asks; "unknown" where none is named and there is no default of ours."""
    defaults = _PLACES[backend][2] if backend in _PLACES else {}
    return str({**defaults, **backend_kwargs}.get("model_name") or "unknown")


def _plugin(backend: str) -> type[BaseLM]:
    others = registry.plugins(PluginGroup.CLIENTS, BACKENDS)
    if backend not in others:
        raise ValueError(f"Unknown backend: {backend}. Supported backends: {', '.join((*BACKENDS, *others))}")
    kind: type[BaseLM] = registry.load(PluginGroup.CLIENTS, others[backend], BaseLM)
    return kind


def with_sampling(kwargs: Mapping[str, Any] | None, sampling: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of `kwargs` with `sampling` merged into its sampling_args."""
    copied = dict(kwargs or {})
    if sampling:
        copied["sampling_args"] = {**(copied.get("sampling_args") or {}), **sampling}
    return copied


def others_with_sampling(
    kwargs: Sequence[Mapping[str, Any]] | None, backends: Sequence[str] | None, sampling: Mapping[str, Any] | None
) -> list[dict[str, Any]] | None:
    """Copies of `kwargs`, one for each of `backends`; the first with the sampling of sub-calls."""
    if backends is None:
        return None
    given = list(kwargs or [{}])
    return [with_sampling(each, sampling if index == 0 else None) for index, each in enumerate(given)]
