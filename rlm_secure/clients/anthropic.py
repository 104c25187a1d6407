"""Anthropic's Messages API, through the `anthropic` package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import groupby
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT, Client, Completion, SDKClient, call_usage
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.connections import Connections
from rlm_secure.clients.media import inline, text_of
from rlm_secure.clients.tool_calls import ToolCall, calls_in, checked_calls
from rlm_secure.errors import MissingExtra, MissingKey, ProviderError

#: Parameters that every version of the SDK accepts by name; anything else goes into the body unchanged.
_PARAMETERS = frozenset({"max_tokens", "metadata", "stop_sequences", "thinking", "service_tier", "extra_headers"})


class AnthropicClient(SDKClient):
    """Anthropic's models. All system messages are sent, in order, and all text blocks of the reply are read.

    `max_tokens` bounds a reply. `api_key` defaults to ANTHROPIC_API_KEY; other keywords go to the SDK's
    constructor. Tokens written to and read from Anthropic's prompt cache count as input tokens. With `thinking` in
    `sampling_args` there are no native tools: the API asks for each turn's thoughts back, and a message holds none.
    """

    vendor: ClassVar[str] = "Anthropic"
    native_tools = True

    def __init__(
        self,
        api_key: str | None = None,
        model_name: str | None = None,
        max_tokens: int = 32_768,
        sampling_args: Mapping[str, Any] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(model_name, timeout, sampling_args, max_retries, **kwargs)
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        if not key and "auth_token" not in kwargs:
            raise MissingKey("no API key for Anthropic: pass api_key, or set ANTHROPIC_API_KEY")
        self.max_tokens = max_tokens
        self.native_tools = "thinking" not in self.sampling_args
        settings = {"api_key": key, **kwargs}
        self._connections = Connections(
            "anthropic", {name: each for name, each in settings.items() if each is not None}
        )
        self._sdk()

    @property
    def max_output_tokens(self) -> int | None:
        """Never None, since every request has a limit: from sampling_args, else the client's own."""
        return super().max_output_tokens or self.max_tokens

    def inherit(self, parent: Client) -> None:
        """Share the connections of a parent with the same settings. See Client.inherit."""
        if isinstance(parent, AnthropicClient) and parent._connections.settings == self._connections.settings:
            self._connections = parent._connections

    async def aclose(self) -> None:
        """Close the connections of the running event loop. See Client.aclose."""
        await self._connections.aclose()

    def _send(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk = self._connections.for_threads(self._sdk()[0])
        return _read(sdk.messages.create(timeout=call.wait(), **self._request(messages, model, call)), model, call)

    async def _asend(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk = self._connections.for_loop(self._sdk()[1])
        response = await sdk.messages.create(timeout=call.wait(), **self._request(messages, model, call))
        return _read(response, model, call)

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk = self._connections.for_loop(self._sdk()[1])
        read = written = 0
        finished = False
        request = {**self._request(messages, model, call), "stream": True}
        async with await sdk.messages.create(timeout=call.wait(), **request) as events:
            async for event in events:
                if event.type == "message_start":
                    read = _read_tokens(event.message.usage)
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    call.say(event.delta.text)
                elif event.type == "message_delta":
                    written = event.usage.output_tokens or written
                finished = finished or event.type == "message_stop"
        return Completion(call.text(finished=finished), model, call_usage(read, written))

    def _sdk(self) -> tuple[type[Any], type[Any]]:
        try:
            import anthropic
        except ImportError as error:
            raise MissingExtra("the anthropic backend", "anthropic") from error
        return anthropic.Anthropic, anthropic.AsyncAnthropic

    def _request(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> dict[str, Any]:
        system = "\n\n".join(str(each["content"]) for each in messages if each["role"] == "system")
        request: dict[str, Any] = {"max_tokens": self.max_tokens}
        for name, value in self.sampling_args.items():
            if name in _PARAMETERS:
                request[name] = value
            else:  # such as temperature: newer SDKs have no parameter for what newer models do not accept
                request["extra_body"] = {**request.get("extra_body", {}), name: value}
        request |= {"model": model, "messages": _chat(messages)}
        if call.tools:
            request["tools"] = [
                {"name": each.name, "description": each.description, "input_schema": dict(each.parameters)}
                for each in call.tools
            ]
        return request | ({"system": system} if system else {})


def _chat(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the system messages, as Anthropic's API has them: with the results of one turn's calls in one message."""
    chat: list[dict[str, Any]] = []
    spoken = (each for each in messages if each["role"] != "system")
    for are_results, group in groupby(spoken, lambda each: bool(each["role"] == "tool")):
        made = [*map(_result if are_results else _message, group)]
        chat += [{"role": "user", "content": made}] if are_results else made
    return chat


def _result(message: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text_of(message["content"])}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A message with its media and tool calls as Anthropic's API has them."""
    content, calls = message["content"], calls_in(message)
    if not calls:
        plain = {name: value for name, value in message.items() if name != "tool_calls"}
        return {**plain, "content": [*map(_part, content)]} if isinstance(content, list) else plain
    said = [{"type": "text", "text": text_of(content)}] if content else []
    used = [
        {"type": "tool_use", "id": each.id, "name": each.name, "input": each.decoded("Anthropic")} for each in calls
    ]
    return {"role": "assistant", "content": [*said, *used]}


def _part(part: Any) -> Any:
    found = inline(part)
    if found is None:
        return part
    kind, data = found
    if not kind.startswith("image/"):
        raise ProviderError("the Anthropic call was not made: its models take images, and no sound")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _read(response: Any, model: str, call: ModelCall) -> Completion:
    blocks = getattr(response, "content", None)
    if not isinstance(blocks, list):
        raise ProviderError("the Anthropic call was answered without content; check base_url")
    text = "".join(block.text for block in blocks if getattr(block, "type", None) == "text")
    usage = response.usage
    counted = call_usage(_read_tokens(usage), usage.output_tokens or 0)
    return Completion(text, model, counted, _tool_calls(response) if call.tools else ())


def _tool_calls(response: Any) -> tuple[ToolCall, ...]:
    used = [block for block in response.content if getattr(block, "type", None) == "tool_use"]
    if used and response.stop_reason == "max_tokens" and used[-1] is response.content[-1]:
        # Its arguments are an object all the same, which lacks what was not written.
        raise ProviderError("the Anthropic call was answered with a tool call that is cut off; raise max_tokens")
    return checked_calls(
        "Anthropic", ([getattr(block, name, None) for name in ("id", "name", "input")] for block in used)
    )


def _read_tokens(usage: Any) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(getattr(usage, name, None) or 0 for name in names)
