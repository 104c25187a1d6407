"""Google's Gemini models, through the `google-genai` package."""

from __future__ import annotations

import contextlib
import importlib
import os
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT, Completion, SDKClient, call_usage
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.connections import PerLoop
from rlm_secure.clients.failures import set_up_error
from rlm_secure.clients.media import inline
from rlm_secure.clients.transport import bind
from rlm_secure.errors import MissingExtra, MissingKey, ProviderError
from rlm_secure.types import ModelUsageSummary

#: Gemini's names of sampling arguments, by the names that other backends use.
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens", "stop": "stop_sequences"}


class GeminiClient(SDKClient):
    """Gemini. System messages become the system instruction, "assistant" becomes "model".

    `api_key` defaults to GEMINI_API_KEY; `base_url` and other keywords go to the SDK's constructor. Thinking tokens
    count as output tokens.
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
            raise MissingKey("no API key for Gemini: pass api_key, or set GEMINI_API_KEY")
        self._base_url = base_url
        self._made: PerLoop[tuple[Any, Any]] = PerLoop()
        self._types()

    async def aclose(self) -> None:
        """Close the connections of the running event loop. See Client.aclose."""
        made = self._made.pop()
        if made is not None:
            sdk, http = made
            await sdk.aio.aclose()
            await http.aclose()  # the SDK does not close clients that it did not create

    def _send(self, messages: list[dict[str, Any]], model: str, seconds: float) -> Completion:
        sdk, _ = self._made.for_threads(self._make)
        return _read(sdk.models.generate_content(**self._request(messages, model, seconds)), model)

    async def _asend(self, messages: list[dict[str, Any]], model: str, seconds: float) -> Completion:
        sdk, _ = self._made.for_loop(self._make)
        return _read(await sdk.aio.models.generate_content(**self._request(messages, model, seconds)), model)

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk, _ = self._made.for_loop(self._make)
        usage, finished = None, False
        request = self._request(messages, model, call.wait())
        chunks = await sdk.aio.models.generate_content_stream(**request)
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                usage = chunk.usage_metadata or usage
                call.say(_text(chunk))
                finished = finished or any(each.finish_reason for each in chunk.candidates or ())
        return Completion(call.text(finished=finished), model, _usage(usage))

    def _part(self, part: Any) -> Any:
        types, found = self._types(), inline(part)
        if found is not None:
            return types.Part(inline_data=types.Blob(mime_type=found[0], data=b64decode(found[1])))
        if not isinstance(part, dict) or "text" not in part:
            raise ProviderError("the Gemini call was not made: a part of a message is no text, image or sound")
        return types.Part(text=str(part["text"]))

    def _types(self) -> Any:
        try:
            from google.genai import types
        except ImportError as error:
            raise MissingExtra("the gemini backend", "gemini") from error
        return types

    def _make(self) -> tuple[Any, Any]:
        """The SDK, and its HTTP client for event loops."""
        from google import genai

        try:
            options, http = self._options()
            return genai.Client(api_key=self._key, http_options=options, **self.kwargs), http
        except Exception as error:  # noqa: BLE001  the SDK's constructor failed: nothing was sent yet
            failure = set_up_error("google-genai", error, {"api_key": self._key, **self.kwargs})
            raise failure from failure.__cause__

    def _options(self) -> tuple[Any, Any]:
        """The SDK's options with our own HTTP clients: by default it uses aiohttp if that is installed."""
        library = _http_library(self._types().HttpOptions)
        # A redirect would send prompts, and the key, to a server that the user did not choose.
        threads, loop = library.Client(follow_redirects=False), library.AsyncClient(follow_redirects=False)
        bind(threads)
        bind(loop)
        return self._types().HttpOptions(base_url=self._base_url, httpx_client=threads, httpx_async_client=loop), loop

    def _request(self, messages: list[dict[str, Any]], model: str, seconds: float) -> dict[str, Any]:
        types = self._types()
        options = types.HttpOptions(
            timeout=max(1, int(seconds * 1000)),
            retry_options=types.HttpRetryOptions(attempts=1),  # only SDKClient retries
        )
        sampling = {_NAMES.get(name, name): value for name, value in self.sampling_args.items()}
        system = "\n\n".join(str(each["content"]) for each in messages if each["role"] == "system")
        contents = [
            types.Content(
                role="model" if each["role"] == "assistant" else "user",
                parts=[self._part(part) for part in _parts(each["content"])],
            )
            for each in messages
            if each["role"] != "system"
        ]
        config = types.GenerateContentConfig(system_instruction=system or None, http_options=options, **sampling)
        return {"model": model, "contents": contents, "config": config}


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"text": str(content)}]


def _http_library(options: Any) -> Any:
    """The HTTP library whose clients the SDK accepts: httpx in older versions, httpx2 in newer ones."""
    for name in ("httpx2", "httpx"):
        try:
            library = importlib.import_module(name)
            # verify=False: this client is only a sample of its type and never connects; loading certificates is slow.
            with library.Client(verify=False) as sample:
                options(httpx_client=sample)
        except (ImportError, ValueError):
            continue
        return library
    raise ProviderError("the google-genai SDK takes no HTTP client of httpx; install a version that does")


def _read(response: Any, model: str) -> Completion:
    return Completion(_text(response), model, _usage(response.usage_metadata))


def _text(response: Any) -> str:
    for candidate in (response.candidates or [])[:1]:
        parts = (candidate.content.parts if candidate.content else None) or []
        return "".join(part.text or "" for part in parts if not part.thought)
    return ""


def _usage(usage: Any) -> ModelUsageSummary:
    if usage is None:
        raise ProviderError("the Gemini call was answered without usage; check base_url")
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return call_usage(usage.prompt_token_count or 0, written)
