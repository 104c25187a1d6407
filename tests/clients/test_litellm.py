"""The real litellm package against a server on this machine.

litellm pins an older openai than the one the rest is tested with, so it is installed apart: this file runs where
litellm is there (`pip install 'rlm-secure[litellm]'`), and tests/clients/conftest.py leaves it out elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import time
import traceback
from pathlib import Path

import pytest

from rlm_secure.clients import Client, get_client
from rlm_secure.clients.tool_calls import ToolCall
from rlm_secure.errors import ProviderError
from rlm_secure.rlm.rlm import RLM
from tests.clients.test_tool_calls import CHAT, SCHEMA, TOOLS, WEATHER, openai_call, openai_calls
from tests.loops import cell
from tests.servers.openai_server import OpenAIServer, Raw

SECRET = "sk-THISISTHEKEY1234567890"


def client_of(server: OpenAIServer, **kwargs) -> Client:
    client = get_client("litellm", {"model_name": "openai/m", "api_key": SECRET, "api_base": server.base_url, **kwargs})
    assert isinstance(client, Client)
    return client


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_reply_comes_back_with_the_usage_of_its_call(mode: str) -> None:
    with OpenAIServer(reply="two words") as server:
        client = client_of(server, sampling_args={"temperature": 0.5})
        completion = (
            client.complete("one two three") if mode == "sync" else asyncio.run(client.acomplete("one two three"))
        )
        assert (completion.text, completion.model) == ("two words", "openai/m")
        assert (completion.usage.total_input_tokens, completion.usage.total_output_tokens) == (3, 2)
        assert server.requests[0].body["temperature"] == 0.5


@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_error_carries_nothing_of_the_providers_text(status: int) -> None:
    body = {"error": {"message": f"{SECRET} org-SECRETORG https://internal.example"}}
    with OpenAIServer(reply=lambda _: Raw(status, body)) as server:
        with pytest.raises(ProviderError) as caught:
            client_of(server, max_retries=0).completion("q")
    shown = "".join(traceback.format_exception(caught.value))
    for secret in ("THISISTHEKEY", "SECRETORG", "internal.example", "127.0.0.1"):
        assert secret not in shown
    assert f"HTTP {status}" in shown


def test_a_slow_provider_is_given_up() -> None:
    with OpenAIServer(delay=10) as server:
        began = time.monotonic()
        with pytest.raises(ProviderError):
            asyncio.run(client_of(server, timeout=0.4, max_retries=0).acompletion("q"))
        assert time.monotonic() - began < 5


def test_no_env_file_is_read_and_the_environment_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("PLANTED=1\n")
    monkeypatch.chdir(tmp_path)
    with OpenAIServer() as server:
        client_of(server)
    assert "PLANTED" not in os.environ
    assert "LITELLM_MODE" not in os.environ


def test_the_loop_runs_on_it() -> None:
    with OpenAIServer(reply=cell("final_answer(6 * 7)")) as server:
        kwargs = {"model_name": "openai/m", "api_key": SECRET, "api_base": server.base_url}
        completion = RLM(backend="litellm", backend_kwargs=kwargs).completion("c")
        assert completion.response == "42"
        assert completion.usage_summary.total_calls == 1


def test_the_text_arrives_in_pieces_with_the_usage_of_its_call() -> None:
    heard: list[tuple[int, str]] = []
    with OpenAIServer(reply="two words") as server:
        completion = asyncio.run(client_of(server).astream("one two three", lambda *piece: heard.append(piece)))
        assert server.requests[0].body["stream"] is True
    assert heard == [(0, "two "), (1, "words")]
    assert (completion.text, completion.usage.total_input_tokens, completion.usage.total_output_tokens) == ("two words", 3, 2)


def test_a_stream_with_more_text_than_a_reply_may_have_ends_the_call() -> None:
    with OpenAIServer(reply=" ".join(map(str, range(4_000)))) as server:
        client = client_of(server, max_retries=0)
        client.reply_bytes = 10_000
        with pytest.raises(ProviderError, match=r"takes more than lm\.reply_bytes = 10,000"):
            asyncio.run(client.astream("q", lambda index, text: None))


def test_tools_are_offered_and_calls_of_them_are_read() -> None:
    reply = openai_calls("I look.", openai_call("c1", "weather", "{"), openai_call("c2", "clock", "{}"))
    with OpenAIServer(reply=lambda _: Raw(body=reply)) as server:
        client = client_of(server)
        completion = asyncio.run(client.acall(CHAT, [WEATHER]))
        assert server.requests[0].body["messages"] == CHAT
        (tool,) = server.requests[0].body["tools"]
        assert client.complete("q").tool_calls == ()
        assert "tools" not in server.requests[1].body
    assert tool["function"] == {"name": "weather", "description": "The weather of a city.", "parameters": SCHEMA}
    assert completion.tool_calls == (ToolCall("c1", "weather", "{"), ToolCall("c2", "clock", "{}"))
    assert (completion.text, completion.usage.total_input_tokens) == ("I look.", 113)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")  # of litellm, for what is malformed
@pytest.mark.parametrize("call", [("c1", "", "{}"), (5, "f", "{}"), ("c1", "f", 5), ("c1", "n" * 129, "{}")])
def test_a_malformed_tool_call_is_a_provider_error(call: tuple) -> None:
    with OpenAIServer(reply=lambda _: Raw(body=openai_calls("", openai_call(*call)))) as server:
        with pytest.raises(ProviderError):
            asyncio.run(client_of(server, max_retries=0).acall("q", TOOLS))
