"""Tool calls of the providers' own: the real SDKs against a server on this machine, and a reply that is hostile."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from rlm_secure.clients import Client, Completion, adapt, get_client
from rlm_secure.clients.base import as_messages, prompt_text
from rlm_secure.clients.tool_calls import MAX_CALLS, MAX_NAME, ToolCall, ToolSpec, calls_in, checked_calls, offered_text
from rlm_secure.clients.windows import fewest_tokens, prompt_characters
from rlm_secure.errors import ProviderError
from rlm_secure.types import ModelUsageSummary
from tests.clients.test_other_providers import client_of
from tests.clients.victim import client_of as any_client_of
from tests.servers.openai_server import OpenAIServer, Raw
from tests.servers.replies import SAYS, anthropic_says, gemini_says, openai_says

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "The weather of a city.", SCHEMA)
CLOCK = ToolSpec("clock", "The time.", {"type": "object", "properties": {}})
TOOLS = [WEATHER, CLOCK]
#: A conversation with two calls in one turn, their results, and a word of the user's after them.
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "weather and time?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}},
            {"id": "c2", "type": "function", "function": {"name": "clock", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    {"role": "tool", "tool_call_id": "c2", "content": "noon"},
    {"role": "user", "content": "go on"},
]
BACKENDS = ["openai", *SAYS]
NO_USAGE = ModelUsageSummary(1, 0, 0)


def openai_calls(text: str | None, *calls: Any) -> dict[str, Any]:
    body = openai_says(text or "")
    message = body["choices"][0]["message"]
    message["content"] = text
    message["tool_calls"] = list(calls)
    return body


def openai_call(key: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def anthropic_calls(text: str | None, *calls: Any) -> dict[str, Any]:
    return {**anthropic_says(""), "stop_reason": "tool_use", "content": [*said(text), *calls]}


def anthropic_call(key: Any, name: Any, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def gemini_calls(text: str | None, *calls: Any) -> dict[str, Any]:
    body = gemini_says("")
    body["candidates"][0]["content"]["parts"] = [*({"text": text} for _ in [0] if text), *calls]
    return body


def gemini_call(key: Any, name: Any, arguments: Any) -> dict[str, Any]:
    given = {"id": key, "name": name, "args": arguments}
    return {"functionCall": {each: value for each, value in given.items() if value is not None}}


def said(text: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text else []


def reply_of(backend: str, text: str | None, *calls: tuple[Any, Any, Any]) -> dict[str, Any]:
    """A reply in the words of the backend's API; arguments that are a dict are text for OpenAI's."""
    if backend == "anthropic":
        return anthropic_calls(text, *(anthropic_call(*each) for each in calls))
    if backend == "gemini":
        return gemini_calls(text, *(gemini_call(*each) for each in calls))
    return openai_calls(
        text, *(openai_call(key, name, json.dumps(a) if isinstance(a, dict) else a) for key, name, a in calls)
    )


def called(client: Client, prompt: Any = "q", tools: Sequence[ToolSpec] = TOOLS, **kwargs: Any) -> Completion:
    async def asked() -> Completion:
        try:
            return await client.acall(prompt, tools, **kwargs)
        finally:
            await client.aclose()

    return asyncio.run(asked())


def made(backend: str, server: OpenAIServer, **kwargs: Any) -> Client:
    if backend == "openai":
        return any_client_of("openai", server.base_url.removesuffix("/v1"), **kwargs)
    return client_of(backend, server, **kwargs)


def answered(backend: str, body: Any, prompt: Any = "q", **kwargs: Any) -> tuple[Completion, dict[str, Any]]:
    """The completion of a call, and the body of its request."""
    with OpenAIServer(reply=lambda _: Raw(body=body)) as server:
        completion = called(made(backend, server, max_retries=0, **kwargs), prompt)
        (seen,) = server.requests
        return completion, seen.body


# -- the reply -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", ["I look.", None])
def test_several_calls_come_back_with_the_text_and_the_usage(backend: str, text: str | None) -> None:
    reply = reply_of(backend, text, ("c1", "weather", {"city": "Zürich"}), ("c2", "clock", {}))
    completion, _ = answered(backend, reply)
    assert completion.text == (text or "")
    assert [(each.name, json.loads(each.arguments)) for each in completion.tool_calls] == [
        ("weather", {"city": "Zürich"}), ("clock", {}),
    ]  # fmt: skip
    ids = [each.id for each in completion.tool_calls]
    assert len(set(ids)) == 2
    assert [each.rpartition(".")[2] for each in ids] == ["c1", "c2"]
    assert (completion.usage.total_input_tokens, completion.usage.total_output_tokens) == (113, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reply_may_call_nothing(backend: str) -> None:
    for text in ("only words", None):
        completion, _ = answered(backend, reply_of(backend, text))
        assert (completion.text, completion.tool_calls) == (text or "", ())


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_that_nobody_offered_are_not_read(backend: str) -> None:
    reply = reply_of(backend, "hi", ("c1", "weather", {}))
    with OpenAIServer(reply=lambda _: Raw(body=reply)) as server:
        assert made(backend, server).complete("q").tool_calls == ()
        assert called(made(backend, server), tools=[]).tool_calls == ()
        assert all("tools" not in seen.body for seen in server.requests)


@pytest.mark.parametrize("arguments", ["", "{", "not JSON", '{"a": NaN}', "[1]", "\u20ac" * 100])
def test_arguments_stay_the_text_that_the_model_wrote(arguments: str) -> None:
    completion, _ = answered("openai", reply_of("openai", None, ("c1", "weather", arguments)))
    assert completion.tool_calls == (ToolCall("c1", "weather", arguments),)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_without_an_id_gets_one(backend: str) -> None:
    completion, _ = answered(backend, reply_of(backend, None, (None, "weather", {}), (None, "weather", {})))
    ids = [each.id for each in completion.tool_calls]
    assert len(set(ids)) == 2 and all(len(each) > 20 for each in ids)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "call",
    [
        ("c1", None, {}),
        ("c1", "", {}),
        ("c1", 5, {}),
        ("c1", ["weather"], {}),
        ("c1", "sk-THISISTHEKEY" * 9, {}),
        (5, "weather", {}),
        ({}, "weather", {}),
        ("c1", "weather", 5),
        ("c1", "weather", ["sk-THISISTHEKEY"]),
    ],
)
def test_a_malformed_call_is_a_provider_error(backend: str, call: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ProviderError) as caught:
        answered(backend, reply_of(backend, "text", ("c0", "clock", {}), call))
    shown = "".join(traceback.format_exception(caught.value))
    assert "THISISTHEKEY" not in shown and "127.0.0.1" not in shown


@pytest.mark.parametrize("calls", ["weather", {"function": {}}, 5, True, ["weather"], [None], [{}], [{"function": "f"}]])
@pytest.mark.parametrize("backend", ["openai", "azure_openai", "portkey"])
def test_what_stands_in_place_of_calls_is_a_provider_error(backend: str, calls: Any) -> None:
    body = openai_says("text")
    body["choices"][0]["message"]["tool_calls"] = calls
    with pytest.raises(ProviderError):
        answered(backend, body)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reply_has_so_many_calls_and_no_more(backend: str) -> None:
    calls = [(f"c{number}", "n" * MAX_NAME, {}) for number in range(MAX_CALLS)]
    completion, _ = answered(backend, reply_of(backend, None, *calls))
    assert len(completion.tool_calls) == MAX_CALLS
    with pytest.raises(ProviderError, match="answered with more than 64 tool calls"):
        answered(backend, reply_of(backend, None, *calls, ("c", "f", {})))


def test_no_more_calls_are_looked_at_than_may_be() -> None:
    looked: list[int] = []

    def endless() -> Any:
        while True:
            looked.append(1)
            yield "c", "f", "{}"

    with pytest.raises(ProviderError, match="the X call was answered with more than 64"):
        checked_calls("X", endless())
    assert len(looked) == MAX_CALLS + 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "call", [("c" * 1100, "weather", {}), ("c1", "weather", {"city": "x" * 1100}), ("c1", "weather", {"city": "é" * 550})]
)
def test_calls_have_the_limit_of_a_reply_with_its_text(backend: str, call: tuple[Any, Any, Any]) -> None:
    with OpenAIServer(reply=lambda _: Raw(body=reply_of(backend, "t" * 10, call))) as server:
        client = made(backend, server)
        client.reply_bytes = 1000
        with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
            called(client)
        assert client.get_usage_summary().total_calls == 1  # the provider was paid for it
        assert len(server.requests) == 1
        client.reply_bytes = 5000
        assert len(called(client).tool_calls) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reply_larger_than_its_limit_is_refused_while_it_arrives(backend: str) -> None:
    with OpenAIServer(reply=lambda _: Raw(body=reply_of(backend, None, ("c1", "f", {"a": "x" * 200_000})))) as server:
        client = made(backend, server)
        client.reply_bytes = 1000
        with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
            called(client)
        assert client.get_usage_summary().total_calls == 0


def test_a_call_of_anthropics_that_was_cut_off_is_not_made() -> None:
    reply = {**reply_of("anthropic", "I", ("c1", "clock", {}), ("c2", "weather", {})), "stop_reason": "max_tokens"}
    with pytest.raises(ProviderError, match="cut off; raise max_tokens"):
        answered("anthropic", reply)
    reply["content"] += said("and th")
    assert len(answered("anthropic", reply)[0].tool_calls) == 2


def test_surrogates_in_a_call_can_be_written() -> None:
    (call,) = answered("openai", reply_of("openai", None, ("c\ud800", "f\ud800", '"\ud800')))[0].tool_calls
    assert call == ToolCall("c\\ud800", "f\\ud800", '"\\ud800')
    with pytest.raises(ProviderError, match="more than 128 characters"):
        checked_calls("X", [("c", "\ud800" * 22, "{}")])
    (reencoded,) = checked_calls("X", [("c", "f", {"\ud800": 1})])
    assert json.loads(reencoded.arguments) == {"\ud800": 1}


# -- what is shared with every call ----------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_carries_nothing_of_the_providers_text(backend: str) -> None:
    leak = "bad key sk-THISISTHEKEY at https://internal.example"
    body = {"type": "error", "error": {"type": leak, "message": leak, "status": leak, "code": leak}}
    with OpenAIServer(reply=lambda _: Raw(500, body, {"retry-after-ms": "1"})) as server:
        with pytest.raises(ProviderError, match="HTTP 500") as caught:
            called(made(backend, server, max_retries=1))
        assert len(server.requests) == 2
    shown = "".join(traceback.format_exception(caught.value))
    assert not any(secret in shown for secret in ("THISISTHEKEY", "internal.example", "127.0.0.1"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_has_one_deadline(backend: str) -> None:
    with OpenAIServer(delay=10) as server:
        began = time.monotonic()
        with pytest.raises(ProviderError, match=r"within 0\.4 seconds"):
            called(made(backend, server), timeout=0.4)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_a_call_that_is_cancelled_ends_its_request(backend: str) -> None:
    async def cancelled(client: Client) -> None:
        task = asyncio.ensure_future(client.acall("q", TOOLS))
        while not server.in_flight:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(500):
            if server.cut_off:
                break
            await asyncio.sleep(0.01)
        await client.aclose()

    with OpenAIServer(delay=30) as server:
        asyncio.run(asyncio.wait_for(cancelled(made(backend, server)), 20))
        assert server.cut_off == 1


def test_a_blocking_client_of_the_users_own_is_used() -> None:
    reply = reply_of("openai", None, ("c1", "clock", {}))
    with OpenAIServer(reply=lambda _: Raw(body=reply)) as server, httpx.Client() as http:
        completion = called(made("openai", server, http_client=http))
        assert completion.tool_calls == (ToolCall("c1", "clock", "{}"),)
        assert len(server.requests[0].body["tools"]) == 2


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_client_without_tool_calls_says_what_to_do(wrapped: bool) -> None:
    class Mine:
        model_name = "mine"

    client = adapt(Mine()) if wrapped else adapt(get_client("scripted", {}))
    assert client.native_tools is False
    with pytest.raises(ProviderError, match=f"the {client.vendor} client has no tool calls.*native_tools=False"):
        asyncio.run(client.acall("q", TOOLS))


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_provider_has_tool_calls(backend: str) -> None:
    with OpenAIServer() as server:
        assert made(backend, server).native_tools is True


def test_anthropic_has_none_where_it_wants_its_thoughts_back() -> None:
    with OpenAIServer() as server:
        client = made("anthropic", server, sampling_args={"thinking": {"type": "enabled", "budget_tokens": 2000}})
        assert client.native_tools is False
        with pytest.raises(ProviderError, match="the Anthropic client has no tool calls"):
            called(client)
        assert server.requests == []


# -- the request -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["openai", "azure_openai", "portkey"])
def test_openais_request_has_the_tools_and_the_conversation_as_it_is(backend: str) -> None:
    _, body = answered(backend, openai_says("ok"), CHAT, sampling_args={"temperature": 0.5})
    assert body == {
        "model": "m",
        "temperature": 0.5,
        "messages": CHAT,
        "tools": [
            {"type": "function", "function": {"name": "weather", "description": "The weather of a city.", "parameters": SCHEMA}},
            {"type": "function", "function": {"name": "clock", "description": "The time.", "parameters": CLOCK.parameters}},
        ],
    }


def test_anthropics_request_has_blocks() -> None:
    _, body = answered("anthropic", anthropic_says("ok"), CHAT)
    assert body == {
        "model": "m",
        "max_tokens": 32_768,
        "system": "be brief",
        "messages": [
            {"role": "user", "content": "weather and time?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}},
                    {"type": "tool_use", "id": "c2", "name": "clock", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "rain"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "noon"},
                ],
            },
            {"role": "user", "content": "go on"},
        ],
        "tools": [
            {"name": "weather", "description": "The weather of a city.", "input_schema": SCHEMA},
            {"name": "clock", "description": "The time.", "input_schema": CLOCK.parameters},
        ],
    }


def test_geminis_request_has_parts() -> None:
    _, body = answered("gemini", gemini_says("ok"), CHAT)
    assert body == {
        "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "weather and time?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look."},
                    {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Bern"}}},
                    {"functionCall": {"id": "c2", "name": "clock", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": "rain"}}},
                    {"functionResponse": {"id": "c2", "name": "clock", "response": {"output": "noon"}}},
                ],
            },
            {"role": "user", "parts": [{"text": "go on"}]},
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "The weather of a city.", "parameters_json_schema": SCHEMA},
                    {"name": "clock", "description": "The time.", "parameters_json_schema": CLOCK.parameters},
                ]
            }
        ],
        "generationConfig": {},
    }


def with_results(completion: Completion) -> list[dict[str, Any]]:
    """The conversation after a reply with calls, as an agent goes on with it."""
    calls = [openai_call(each.id, each.name, each.arguments) for each in completion.tool_calls]
    results = [{"role": "tool", "tool_call_id": each.id, "content": "done"} for each in completion.tool_calls]
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": completion.text, "tool_calls": calls}, *results]


def test_gemini_gets_back_its_ids_and_signatures_and_none_of_ours() -> None:
    signed = {**gemini_call("theirs.1", "weather", {"city": "Bern"}), "thoughtSignature": "c2lnbmVk"}
    completion, _ = answered("gemini", gemini_calls(None, signed, gemini_call(None, "clock", None)))
    _, body = answered("gemini", gemini_says("ok"), with_results(completion))
    assert body["contents"][1:] == [
        {"role": "model", "parts": [signed, {"functionCall": {"name": "clock", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "theirs.1", "name": "weather", "response": {"output": "done"}}},
                {"functionResponse": {"name": "clock", "response": {"output": "done"}}},
            ],
        },
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_conversation_goes_on_with_what_the_provider_called(backend: str) -> None:
    deep: dict[str, Any] = {"a": [{"b": ["\u20ac \U0001f600", 1.5, None, True]}], "": -(10**30)}
    completion, _ = answered(backend, reply_of(backend, None, ("c1", "weather", deep)))
    _, body = answered(backend, SAYS.get(backend, openai_says)("ok"), with_results(completion))
    if backend == "anthropic":
        assert body["messages"][1]["content"] == [anthropic_call("c1", "weather", deep)]
    elif backend == "gemini":
        assert body["contents"][1]["parts"] == [gemini_call("c1", "weather", deep)]
    else:
        (call,) = body["messages"][1]["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == deep


@pytest.mark.parametrize("backend", ["anthropic", "gemini"])
@pytest.mark.parametrize("arguments", ["{", "[]", "[" * 1000, '{"a": 1, "a": 2}'])
def test_what_is_no_object_is_not_sent_where_one_is_needed(backend: str, arguments: str) -> None:
    chat = with_results(Completion("", "m", NO_USAGE, (ToolCall("c1", "weather", arguments),)))
    with OpenAIServer() as server:
        with pytest.raises(ProviderError, match="was not made: the arguments of a tool call in the conversation"):
            called(made(backend, server), chat)
        assert server.requests == []


def test_a_result_of_no_call_is_not_sent_to_gemini() -> None:
    with OpenAIServer() as server, pytest.raises(ProviderError, match="belongs to no call"):
        called(made("gemini", server), [{"role": "tool", "tool_call_id": "c1", "content": "x"}])


@pytest.mark.parametrize("backend", ["anthropic", "gemini"])
def test_media_and_an_empty_list_of_calls_go_with_it(backend: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
        {"role": "assistant", "content": "yes", "tool_calls": []},
        {"role": "assistant", "content": "no", "tool_calls": None},
        *CHAT[1:],
    ]
    _, body = answered(backend, SAYS[backend]("ok"), chat)
    first, *others = body["messages"] if backend == "anthropic" else body["contents"]
    assert "aGk=" in json.dumps(first)
    assert "tool_calls" not in json.dumps(others)


# -- the neutral form ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "calls",
    [
        5, "calls", {"id": "c"}, ["c"], [None], [{}], [{"id": 5, "function": {"name": "f", "arguments": "{}"}}],
        [{"id": "c", "function": "f"}], [{"id": "c", "function": {"name": "f"}}],
        [{"id": "c", "function": {"name": "f", "arguments": {}}}],
        [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "i"}}],
    ],
)  # fmt: skip
def test_calls_in_another_form_are_no_prompt(calls: Any) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    for use in (as_messages, prompt_text, fewest_tokens, prompt_characters):
        with pytest.raises(ValueError, match="Invalid tool_calls"):
            use([message])  # type: ignore[operator]


@pytest.mark.parametrize("key", [{}, {"tool_call_id": None}, {"tool_call_id": 5}])
def test_a_result_names_its_call(key: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no tool_call_id"):
        as_messages([{"role": "tool", "content": "x", **key}])


def test_calls_and_results_are_counted() -> None:
    call = openai_call("c1", "n" * 70, "a" * 700)
    chat = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "r" * 7000},
    ]
    text = prompt_text(chat)
    assert [text.count(each) for each in "nar"] == [70, 700, 7000]
    assert 7770 <= prompt_characters(chat) <= 7775
    assert 1109 <= fewest_tokens(chat) <= 1111
    assert as_messages(chat) == chat
    assert calls_in({"role": "user"}) == calls_in({"tool_calls": None}) == []


def test_usage_that_a_server_does_not_report_is_estimated_with_the_tools() -> None:
    reply = reply_of("openai", "x" * 8, ("c1", "weather", '{"city": "' + "y" * 4000 + '"}'))
    del reply["usage"]
    completion, _ = answered("openai", reply, CHAT)
    assert 1003 <= completion.usage.total_output_tokens <= 1010
    least = (len(prompt_text(CHAT)) + len(offered_text(TOOLS))) // 4
    assert least <= completion.usage.total_input_tokens <= least + 1
    assert offered_text([]) == ""


def test_size_counts_all_that_was_said() -> None:
    completion = Completion("é", "m", NO_USAGE, (ToolCall("ab", "cde", "€"), ToolCall("", "f", "")))
    assert completion.size == 2 + 2 + 3 + 3 + 1
