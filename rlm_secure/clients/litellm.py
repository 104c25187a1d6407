"""The hundred providers of the `litellm` package.

It creates its HTTP clients in some hundred places, so the limits are set in the transport classes that all of them
share. A provider that litellm does not reach over httpx (SageMaker, a custom handler) has no limits at the connection:
the gate refuses a reply that is too large after it has arrived.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT, Completion, SDKClient, call_usage, estimated_usage
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.openai import reported_cost
from rlm_secure.clients.tool_calls import ToolCall, functions_called, functions_offered
from rlm_secure.clients.transport import bind_library
from rlm_secure.errors import MissingExtra, ProviderError

#: Variables that keep litellm from loading a .env file and fetching a price list while it is imported.
_QUIET = {"LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

#: Bytes of the largest reply that litellm is given. It makes five copies of a text, and searches what it cannot parse
#: for secrets six times, with regular expressions that take a microsecond per byte.
MAX_REPLY_BYTES = 768 * 1024


class LiteLLMClient(SDKClient):
    """Any model that litellm knows, as "provider/model". `sampling_args` and other keywords go into every request."""

    vendor: ClassVar[str] = "litellm"
    native_tools = True

    def __init__(
        self,
        model_name: str | None = None,
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name, timeout, sampling_args, max_retries, **kwargs)
        with _quietly():
            try:
                import litellm
            except ImportError as error:
                raise MissingExtra("the litellm backend", "litellm") from error
        self._litellm: Any = litellm
        self._litellm.disable_aiohttp_transport = True
        bind_library("httpx")

    def _call(self, timeout: float | None) -> ModelCall:
        most = min(self.reply_bytes, MAX_REPLY_BYTES)
        limit = "lm.reply_bytes" if most == self.reply_bytes else "what litellm is given"
        return ModelCall(self.vendor, self.seconds_of(timeout), most, limit)

    def _send(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        return _read(self._litellm.completion(**self._request(messages, model, call)), messages, model, call)

    async def _asend(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        response = await self._litellm.acompletion(**self._request(messages, model, call))
        return _read(response, messages, model, call)

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        request = {**self._request(messages, model, call), "stream": True}
        request["stream_options"] = {"include_usage": True}
        usage, finished = None, False
        async for chunk in await self._litellm.acompletion(**request):
            usage = getattr(chunk, "usage", None) or usage
            for choice in (getattr(chunk, "choices", None) or [])[:1]:
                call.say(choice.delta.content or "")
                finished = finished or choice.finish_reason is not None
        text = call.text(finished=finished)
        return _counted(text, usage, None if usage is None else reported_cost(usage), messages, model, call)

    def _request(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> dict[str, Any]:
        limits = {"timeout": call.wait(), "max_retries": 0}  # only SDKClient retries
        asked = {"model": model, "messages": messages, **functions_offered(call.tools)}
        return {**self.kwargs, **self.sampling_args, **limits, **asked}


@contextmanager
def _quietly() -> Iterator[None]:
    """Import without a .env file and without a network; the environment variables are restored afterwards."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _read(response: Any, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
    choices = getattr(response, "choices", None)
    if not choices:
        raise ProviderError("the litellm call was answered without a choice; check model_name")
    text = choices[0].message.content or ""
    usage = getattr(response, "usage", None)
    hidden = getattr(response, "_hidden_params", None) or {}
    cost = None if usage is None else reported_cost(usage) or hidden.get("response_cost")
    calls = functions_called("litellm", getattr(choices[0].message, "tool_calls", None)) if call.tools else ()
    return _counted(text, usage, cost, messages, model, call, calls)


def _counted(
    text: str,
    usage: Any,
    cost: Any,
    messages: list[dict[str, Any]],
    model: str,
    call: ModelCall,
    calls: tuple[ToolCall, ...] = (),
) -> Completion:
    if usage is None:
        counted = estimated_usage(messages, call, text, calls)
    else:
        counted = call_usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cost)
    return Completion(text, model, counted, calls)
