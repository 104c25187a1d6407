"""Google's Gemini models, through the `google-genai` package."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from rlm_secure.clients.base import DEFAULT_TIMEOUT, Completion, SDKClient, call_usage
from rlm_secure.clients.failures import set_up_error
from rlm_secure.errors import MissingExtra, ProviderError

#: Sampling arguments under the names that other backends use.
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens", "stop": "stop_sequences"}


class GeminiClient(SDKClient):
    """Gemini. System messages become the system instruction, "assistant" becomes "model".

    `api_key` defaults to GEMINI_API_KEY; `base_url` and other keywords go to the SDK's constructor. Tokens that a
    model thinks in count as output tokens.
    """

    vendor: ClassVar[str] = "Gemini"

    def __init__(
        self,
        api_key: str | None = None,
        model_name: str | None = "gemini-2.5-flash",
        base_url: str | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name, timeout, sampling_args, max_retries, **kwargs)
        self._key = api_key or os.environ.get("GEMINI_API_KEY")
        if not self._key and not kwargs:
            raise ProviderError("no API key for Gemini: pass api_key, or set GEMINI_API_KEY")
        self._base_url = base_url
        self._lock = threading.Lock()
        self._threads: Any = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._types()

    async def aclose(self) -> None:
        with self._lock:
            sdk = self._loops.pop(asyncio.get_running_loop(), None)
        if sdk is not None:
            await sdk.aio.aclose()

    def _send(self, messages: list[dict[str, Any]], model: str, seconds: float) -> Completion:
        with self._lock:
            self._threads = self._threads or self._make()
        return _read(self._threads.models.generate_content(**self._request(messages, model, seconds)), model)

    async def _asend(self, messages: list[dict[str, Any]], model: str, seconds: float) -> Completion:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._loops:
                self._loops[loop] = self._make()
        async with asyncio.timeout(seconds * (self.retries + 1) + 1):
            reply = await self._loops[loop].aio.models.generate_content(**self._request(messages, model, seconds))
        return _read(reply, model)

    def _types(self) -> Any:
        try:
            from google.genai import types
        except ImportError as error:
            raise MissingExtra("the gemini backend", "gemini") from error
        return types

    def _make(self) -> Any:
        from google import genai

        options = self._types().HttpOptions(
            base_url=self._base_url,
            # A redirect would carry prompts, and the key, to a place that nobody chose. The SDK takes aiohttp where
            # it is installed, which has another word for it; each library is given what it knows.
            client_args={"follow_redirects": False},
            async_client_args={"follow_redirects": False, "allow_redirects": False},
        )
        try:
            return genai.Client(api_key=self._key, http_options=options, **self.kwargs)
        except Exception as error:  # noqa: BLE001  of the SDK's constructor: nothing was sent yet
            failure = set_up_error("google-genai", error, {"api_key": self._key, **self.kwargs})
            raise failure from failure.__cause__

    def _request(self, messages: list[dict[str, Any]], model: str, seconds: float) -> dict[str, Any]:
        types = self._types()
        options = types.HttpOptions(
            timeout=max(1, int(seconds * 1000)),
            retry_options=types.HttpRetryOptions(attempts=self.retries + 1),
        )
        sampling = {_NAMES.get(name, name): value for name, value in self.sampling_args.items()}
        system = "\n\n".join(str(each["content"]) for each in messages if each["role"] == "system")
        contents = [
            types.Content(
                role="model" if each["role"] == "assistant" else "user",
                parts=[types.Part(text=str(each["content"]))],
            )
            for each in messages
            if each["role"] != "system"
        ]
        config = types.GenerateContentConfig(system_instruction=system or None, http_options=options, **sampling)
        return {"model": model, "contents": contents, "config": config}


def _read(response: Any, model: str) -> Completion:
    text = ""
    for candidate in (response.candidates or [])[:1]:
        parts = (candidate.content.parts if candidate.content else None) or []
        text = "".join(part.text or "" for part in parts if not part.thought)
    usage = response.usage_metadata
    if usage is None:
        raise ProviderError("the Gemini call was answered without usage; check base_url")
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return Completion(text, model, call_usage(usage.prompt_token_count or 0, written))
