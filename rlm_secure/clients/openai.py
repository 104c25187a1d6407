"""OpenAI, and every server with OpenAI's chat API (OpenRouter, Vercel, vLLM, ...), through the `openai` package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from rlm_secure.clients.base import (
    DEFAULT_TIMEOUT,
    Client,
    Completion,
    SDKClient,
    call_usage,
    estimated_usage,
    in_thread,
)
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.connections import Connections
from rlm_secure.clients.tool_calls import ToolCall, functions_called, functions_offered
from rlm_secure.errors import MissingKey, ProviderError

OPENROUTER = "https://openrouter.ai/api/v1"
VERCEL = "https://ai-gateway.vercel.sh/v1"
PRIME = "https://api.pinference.ai/api/v1"

#: The environment variable with the key of each known server. A key is sent to its own server only.
_KEY_VARIABLES = {
    OPENROUTER: "OPENROUTER_API_KEY",
    VERCEL: "AI_GATEWAY_API_KEY",
    PRIME: "PRIME_API_KEY",
}
#: Servers that report the cost of a call only on request.
_COST_ON_REQUEST = frozenset({OPENROUTER, PRIME})


class OpenAIClient(SDKClient):
    """Chat completions through the `openai` package.

    `api_key` defaults to the environment variable of the server's provider. `sampling_args` go into every request
    (`max_tokens` under the name that current models accept); other keywords go to the SDK's constructor.
    Usage that the server does not report is estimated, so that token limits hold there as well.
    """

    vendor: ClassVar[str] = "OpenAI"
    native_tools = True

    def __init__(
        self,
        api_key: str | None = None,
        model_name: str | None = None,
        base_url: str | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name, timeout, sampling_args, max_retries, **kwargs)
        self.base_url = base_url
        server = (base_url or "").rstrip("/")
        if api_key is None and server in _KEY_VARIABLES:
            variable = _KEY_VARIABLES[server]
            api_key = os.environ.get(variable)
            if not api_key:
                raise MissingKey(f"no API key for {server}: pass api_key, or set {variable}")
        elif api_key is None and not os.environ.get("OPENAI_API_KEY"):
            # Otherwise the SDK's own error would come later and look like a failed call.
            raise MissingKey("no API key: set OPENAI_API_KEY; a server that asks for none takes any value")
        self._asks_for_cost = server in _COST_ON_REQUEST
        if self._asks_for_cost:
            self.billing = "reported"
        settings: dict[str, Any] = {"api_key": api_key, "base_url": base_url, **kwargs}
        self._connections = Connections("openai", {key: value for key, value in settings.items() if value is not None})

    def inherit(self, parent: Client) -> None:
        """Share the connections of a parent with the same settings. See Client.inherit."""
        if isinstance(parent, OpenAIClient) and parent._connections.settings == self._connections.settings:
            self._connections = parent._connections

    async def aclose(self) -> None:
        """Close the connections of the running event loop. See Client.aclose."""
        await self._connections.aclose()

    def _send(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk = self._connections.for_threads(self._sdk()[0])
        request = {**self._request(messages, model), **functions_offered(call.tools)}
        return self._read(sdk.chat.completions.create(timeout=call.wait(), **request), messages, model, call)

    async def _asend(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        if "http_client" in self.kwargs:  # the user's own, and blocking
            return await in_thread(lambda: self._send(messages, model, call))
        sdk = self._connections.for_loop(self._sdk()[1])
        request = {**self._request(messages, model), **functions_offered(call.tools)}
        return self._read(await sdk.chat.completions.create(timeout=call.wait(), **request), messages, model, call)

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        if "http_client" in self.kwargs:
            return await super()._astream(messages, model, call)
        sdk = self._connections.for_loop(self._sdk()[1])
        request = {**self._request(messages, model), "stream": True, **self._usage_of_a_stream}
        usage, finished = None, False
        async with await sdk.chat.completions.create(timeout=call.wait(), **request) as chunks:
            async for chunk in chunks:
                usage = getattr(chunk, "usage", None) or usage
                for choice in _first(chunk):
                    call.say(_said(choice))
                    finished = finished or choice.finish_reason is not None
        return self._completion(call.text(finished=finished), usage, messages, model, call)

    @property
    def _usage_of_a_stream(self) -> dict[str, Any]:
        """The arguments that make the server report the usage of a stream, in its last event."""
        return {"stream_options": {"include_usage": True, **(self.sampling_args.get("stream_options") or {})}}

    def _sdk(self) -> tuple[type[Any], type[Any]]:
        """The blocking and the asynchronous class of the SDK. Imported on use: importing takes half a second."""
        import openai

        return openai.OpenAI, openai.AsyncOpenAI

    def _request(self, messages: list[dict[str, Any]], model: str) -> dict[str, Any]:
        request: dict[str, Any] = {**self.sampling_args, "model": model, "messages": []}
        if "max_tokens" in request:
            request.setdefault("max_completion_tokens", request.pop("max_tokens"))
            request.pop("max_tokens", None)
        # In the SDK's own argument each message costs 0.3 ms, for a rewriting that leaves every one as it is.
        request["extra_body"] = extra = {**(request.get("extra_body") or {}), "messages": messages}
        if self._asks_for_cost:
            extra.setdefault("usage", {"include": True})
        return request

    def _read(self, response: Any, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        choices = getattr(response, "choices", None)
        if not choices:
            raise ProviderError(f"the {self.vendor} call was answered without a choice; check base_url")
        message = choices[0].message
        text = message.content or getattr(message, "refusal", None) or ""
        if not isinstance(text, str):
            raise ProviderError(f"the {self.vendor} call was answered with {type(text).__name__}, not text")
        calls = functions_called(self.vendor, getattr(message, "tool_calls", None)) if call.tools else ()
        return self._completion(text, getattr(response, "usage", None), messages, model, call, calls)

    def _completion(
        self,
        text: str,
        usage: Any,
        messages: list[dict[str, Any]],
        model: str,
        call: ModelCall,
        calls: tuple[ToolCall, ...] = (),
    ) -> Completion:
        if usage is None:
            counted = estimated_usage(messages, call, text, calls)
        else:
            counted = call_usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, reported_cost(usage))
            if self._asks_for_cost and counted.total_cost is None and _is_free(usage):
                counted.total_cost = 0.0
        return Completion(text, model, counted, calls)


def _first(chunk: Any) -> list[Any]:
    """The first choice in a piece of a stream, if it has a part of it: with `n`, there are several at the same time."""
    choices = getattr(chunk, "choices", None)
    return [each for each in choices if each.index == 0][:1] if isinstance(choices, list) else []


def _said(choice: Any) -> str:
    text = choice.delta.content or getattr(choice.delta, "refusal", None)
    return text if isinstance(text, str) else ""


def reported_cost(usage: Any) -> float | None:
    """US dollars in an OpenAI-style usage object, in any of the known fields; None if the server reports none."""
    extra = getattr(usage, "model_extra", None) or {}
    details = extra.get("cost_details") or getattr(usage, "cost_details", None)
    if not isinstance(details, Mapping):
        details = {"upstream_inference_cost": getattr(details, "upstream_inference_cost", None)}
    for cost in (extra.get("cost"), getattr(usage, "cost", None), details.get("upstream_inference_cost")):
        if isinstance(cost, int | float) and not isinstance(cost, bool) and cost:
            return float(cost)
    return None


def _is_free(usage: Any) -> bool:
    """Whether a server that was asked for the cost reported 0. From other servers, 0 may mean "unknown"."""
    cost = (getattr(usage, "model_extra", None) or {}).get("cost", getattr(usage, "cost", None))
    return isinstance(cost, int | float) and not isinstance(cost, bool) and cost == 0
