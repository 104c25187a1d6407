"""Google's Gemini models, through the `google-genai` package."""

from __future__ import annotations

import contextlib
import importlib
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from itertools import groupby
from secrets import token_hex
from typing import Any, ClassVar

from rlm_secure.clients.base import DEFAULT_TIMEOUT, Completion, SDKClient, call_usage
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.connections import PerLoop, verification
from rlm_secure.clients.failures import set_up_error
from rlm_secure.clients.media import inline, text_of
from rlm_secure.clients.tool_calls import ToolCall, ToolSpec, calls_in, checked_calls
from rlm_secure.clients.transport import bind
from rlm_secure.errors import MissingExtra, MissingKey, ProviderError
from rlm_secure.types import ModelUsageSummary

#: Gemini's names of sampling arguments, by the names that other backends use.
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens", "stop": "stop_sequences"}
#: What the ids of calls begin with; in each follow a number, the signature of the call and the server's id.
_ID = "gemini."


class GeminiClient(SDKClient):
    """Gemini. System messages become the system instruction, "assistant" becomes "model".

    `api_key` defaults to GEMINI_API_KEY; `base_url` and other keywords go to the SDK's constructor. Thinking tokens
    count as output tokens.
    """

    vendor: ClassVar[str] = "Gemini"
    native_tools = True

    def __init__(
        self,
        api_key: str | None = None,
        model_name: str | None = "gemini-2.5-flash",  # as in rlm_secure.clients
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

    def _send(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk, _ = self._made.for_threads(self._make)
        return _read(sdk.models.generate_content(**self._request(messages, model, call)), model, call)

    async def _asend(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk, _ = self._made.for_loop(self._make)
        return _read(await sdk.aio.models.generate_content(**self._request(messages, model, call)), model, call)

    async def _astream(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> Completion:
        sdk, _ = self._made.for_loop(self._make)
        usage, finished = None, False
        request = self._request(messages, model, call)
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
        tls = verification(library.Client)
        threads = library.Client(follow_redirects=False, verify=tls)
        loop = library.AsyncClient(follow_redirects=False, verify=tls)
        bind(threads)
        bind(loop)
        options = self._types().HttpOptions(
            base_url=self._base_url,
            httpx_client=threads,
            httpx_async_client=loop,
            async_client_args={"ssl": tls},  # of the SDK's websockets, which no call uses: else it makes its own
        )
        return options, loop

    def _request(self, messages: list[dict[str, Any]], model: str, call: ModelCall) -> dict[str, Any]:
        types = self._types()
        options = types.HttpOptions(
            timeout=max(1, int(call.wait() * 1000)),
            retry_options=types.HttpRetryOptions(attempts=1),  # only SDKClient retries
        )
        sampling = {_NAMES.get(name, name): value for name, value in self.sampling_args.items()}
        system = "\n\n".join(str(each["content"]) for each in messages if each["role"] == "system")
        if call.tools:
            sampling["tools"] = [types.Tool(function_declarations=[self._declared(each) for each in call.tools])]
        config = types.GenerateContentConfig(system_instruction=system or None, http_options=options, **sampling)
        return {"model": model, "contents": self._contents(messages), "config": config}

    def _contents(self, messages: list[dict[str, Any]]) -> list[Any]:
        """All but the system messages, with the results of one turn's calls in one."""
        types = self._types()
        contents: list[Any] = []
        names: dict[str, str] = {}
        spoken = (each for each in messages if each["role"] != "system")
        for are_results, group in groupby(spoken, lambda each: bool(each["role"] == "tool")):
            if are_results:
                contents.append(types.Content(role="user", parts=[self._result(each, names) for each in group]))
                continue
            for each in group:
                calls = calls_in(each)
                names |= {called.id: called.name for called in calls}
                parts = [self._part(part) for part in _parts(each["content"])] if each["content"] or not calls else []
                role = "model" if each["role"] == "assistant" else "user"
                contents.append(types.Content(role=role, parts=[*parts, *map(self._called, calls)]))
        return contents

    def _declared(self, tool: ToolSpec) -> Any:
        return self._types().FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
        )

    def _called(self, call: ToolCall) -> Any:
        key, signature = _told_apart(call.id)
        called = self._types().FunctionCall(id=key, name=call.name, args=call.decoded("Gemini"))
        return self._types().Part(function_call=called, thought_signature=signature)

    def _result(self, message: dict[str, Any], names: Mapping[str, str]) -> Any:
        """The result of a call; `names` has the names of those before it, which the API wants again."""
        joined, types = message["tool_call_id"], self._types()
        if joined not in names:
            raise ProviderError("the Gemini call was not made: a tool's result in the conversation belongs to no call")
        key, _ = _told_apart(joined)
        said = {"output": text_of(message["content"])}
        return types.Part(function_response=types.FunctionResponse(id=key, name=names[joined], response=said))


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


def _read(response: Any, model: str, call: ModelCall) -> Completion:
    calls = _tool_calls(response) if call.tools else ()
    return Completion(_text(response), model, _usage(response.usage_metadata), calls)


def _spoken(response: Any) -> list[Any]:
    """The parts of the first candidate."""
    for candidate in (response.candidates or [])[:1]:
        return (candidate.content.parts if candidate.content else None) or []
    return []


def _text(response: Any) -> str:
    return "".join(part.text or "" for part in _spoken(response) if not part.thought)


def _tool_calls(response: Any) -> tuple[ToolCall, ...]:
    called = ((part.function_call, part.thought_signature) for part in _spoken(response) if part.function_call)
    return checked_calls("Gemini", ((_joined(each, signed), each.name, each.args or {}) for each, signed in called))


def _joined(called: Any, signature: bytes | None) -> str:
    """The id of a call, one of its own even if the server gave none; with the signature that the server wants back."""
    return f"{_ID}{token_hex(12)}.{b64encode(signature or b'').decode()}.{called.id or ''}"


def _told_apart(joined: str) -> tuple[str | None, bytes | None]:
    """The server's id of a call, and its signature, if it gave them; an id that is another provider's as it is."""
    if not joined.startswith(_ID):
        return joined, None
    _, _, signature, key = joined.split(".", 3)
    return key or None, b64decode(signature) or None


def _usage(usage: Any) -> ModelUsageSummary:
    if usage is None:
        raise ProviderError("the Gemini call was answered without usage; check base_url")
    written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return call_usage(usage.prompt_token_count or 0, written)
