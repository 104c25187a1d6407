"""Upstream's `rlm.clients.azure_openai`."""

from rlm_secure.clients.azure_openai import AzureOpenAIClient

__all__ = ["AzureOpenAIClient"]
