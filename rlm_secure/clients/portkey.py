"""Portkey's gateway: OpenAI's API with Portkey's headers, which the `portkey_ai` package builds."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT
from rlm_secure.clients.openai import OpenAIClient
from rlm_secure.errors import MissingExtra


class PortkeyClient(OpenAIClient):
    """Portkey. `api_key` is Portkey's; other keywords (`virtual_key`, `config`, `provider`, ...) become headers."""

    vendor: ClassVar[str] = "Portkey"

    def __init__(
        self,
        api_key: str,
        model_name: str | None = None,
        base_url: str | None = "https://api.portkey.ai/v1",
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        try:
            headers: Any = importlib.import_module("portkey_ai").createHeaders
        except ImportError as error:
            raise MissingExtra("the portkey backend", "portkey") from error
        super().__init__(
            api_key="portkey",  # the gateway reads its own header, and has the provider's key
            model_name=model_name,
            base_url=base_url,
            sampling_args=sampling_args,
            timeout=timeout,
            max_retries=max_retries,
            default_headers={str(name): str(value) for name, value in headers(api_key=api_key, **kwargs).items()},
        )
