"""Azure OpenAI, through the `openai` package's Azure classes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT
from rlm_secure.clients.openai import OpenAIClient
from rlm_secure.errors import MissingKey


class AzureOpenAIClient(OpenAIClient):
    """A deployment on Azure. Defaults come from AZURE_OPENAI_API_KEY, _ENDPOINT, _API_VERSION, _DEPLOYMENT.

    Raises ValueError without an endpoint and MissingKey without a key.
    """

    vendor: ClassVar[str] = "Azure OpenAI"

    def __init__(
        self,
        api_key: str | None = None,
        model_name: str | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        azure_deployment: str | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        endpoint = azure_endpoint or os.environ.get("AZURE_OPENAI_ENDPOINT")
        if not endpoint:
            raise ValueError(
                "azure_endpoint is required for Azure OpenAI client: pass it, or set AZURE_OPENAI_ENDPOINT"
            )
        key = api_key or os.environ.get("AZURE_OPENAI_API_KEY")
        if not key and not {"azure_ad_token", "azure_ad_token_provider"} & kwargs.keys():
            raise MissingKey("no API key for Azure OpenAI: pass api_key, or set AZURE_OPENAI_API_KEY")
        self._api_version = api_version or os.environ.get("AZURE_OPENAI_API_VERSION") or "2024-02-01"
        super().__init__(
            api_key=key,
            model_name=model_name,
            sampling_args=sampling_args,
            timeout=timeout,
            max_retries=max_retries,
            azure_endpoint=endpoint,
            api_version=self._api_version,
            azure_deployment=azure_deployment or os.environ.get("AZURE_OPENAI_DEPLOYMENT"),
            **kwargs,
        )

    @property
    def _usage_of_a_stream(self) -> dict[str, Any]:
        """Nothing for older versions of the API, which refuse the argument: usage is estimated there."""
        return super()._usage_of_a_stream if self._api_version >= "2024-09-01" else {}

    def _sdk(self) -> tuple[type[Any], type[Any]]:
        import openai

        return openai.AzureOpenAI, openai.AsyncAzureOpenAI
