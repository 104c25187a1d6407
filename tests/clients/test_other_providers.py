"""Anthropic, Gemini, Azure and Portkey: their real SDKs against a server on this machine."""

from __future__ import annotations

import asyncio
import time
import traceback
from typing import Any

import pytest

from rlm_secure.clients import BACKENDS, Client, get_client, model_of
from rlm_secure.clients.gemini import GeminiClient
from rlm_secure.errors import MissingExtra, ProviderError
from rlm_secure.rlm.rlm import RLM
from tests.loops import cell
from tests.servers.openai_server import OpenAIServer, Raw
from tests.servers.replies import SAYS, anthropic_says, gemini_says, openai_says

SECRET = "sk-THISISTHEKEY1234567890"
CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two"},
    {"role": "system", "content": "and kind"},
    {"role": "user", "content": "three"},
]


def client_of(backend: str, server: OpenAIServer, **kwargs: Any) -> Client:
    root = server.base_url.removesuffix("/v1")
    where = {
        "anthropic": {"base_url": root},
        "gemini": {"base_url": root},
        "azure_openai": {"azure_endpoint": root, "azure_deployment": "d"},
        "portkey": {"base_url": server.base_url},
    }[backend]
    client = get_client(backend, {"api_key": SECRET, "model_name": "m", **where, **kwargs})
    assert isinstance(client, Client)
    return client


@pytest.mark.parametrize("backend", SAYS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_reply_comes_back_with_the_usage_of_its_call(backend: str, mode: str) -> None:
    with OpenAIServer(reply=lambda _: Raw(body=SAYS[backend]("hello"))) as server:
        client = client_of(backend, server)

        async def asked():
            try:
                return await client.acomplete(CHAT)
            finally:
                await client.aclose()

        completion = client.complete(CHAT) if mode == "sync" else asyncio.run(asked())
        assert (completion.text, completion.model) == ("hello", "m")
        assert (completion.usage.total_input_tokens, completion.usage.total_output_tokens) == (113, 2)
        assert client.get_usage_summary().total_calls == 1


@pytest.mark.parametrize("backend", [each for each in BACKENDS if each != "litellm"])  # it may not be installed
def test_a_log_names_the_model_that_is_asked_where_the_caller_named_none(backend: str) -> None:
    needed = {"azure_openai": {"azure_endpoint": "http://127.0.0.1:1"}, "vllm": {"base_url": "http://127.0.0.1:1"}}
    keys = {} if backend == "scripted" else {"api_key": SECRET}
    client = get_client(backend, keys | needed.get(backend, {}))
    rlm = RLM(backend, keys)
    assert rlm.root_model == rlm.config.metadata.root_model == model_of(backend, {}) == (client.model_name or "unknown")
    assert RLM(backend, {"model_name": "mine"}).root_model == "mine"


def test_a_client_made_by_its_class_has_the_same_default() -> None:
    assert GeminiClient(api_key=SECRET).model_name == model_of("gemini", {}) == "gemini-2.5-flash"


@pytest.mark.parametrize("backend", SAYS)
@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_error_carries_nothing_of_the_providers_text(backend: str, status: int) -> None:
    leak = f"bad key {SECRET} of org-SECRETORG at https://internal.example"
    body = {"type": "error", "error": {"type": leak, "message": leak, "status": leak, "code": leak}}
    with OpenAIServer(reply=lambda _: Raw(status, body)) as server:
        with pytest.raises(ProviderError) as caught:
            client_of(backend, server, max_retries=0).completion("q")
        assert len(server.requests) == 1
    shown = "".join(traceback.format_exception(caught.value))
    for secret in ("THISISTHEKEY", "SECRETORG", "internal.example", "127.0.0.1"):
        assert secret not in shown
    assert f"HTTP {status}" in shown
    assert caught.value.retryable is (status != 401)


@pytest.mark.parametrize("backend", SAYS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_slow_provider_is_given_up(backend: str, mode: str) -> None:
    with OpenAIServer(delay=10, reply=lambda _: Raw(body=SAYS[backend]("late"))) as server:
        client = client_of(backend, server, timeout=0.4, max_retries=0)
        began = time.monotonic()
        with pytest.raises(ProviderError, match=r"within 0\.4 seconds"):
            client.completion("q") if mode == "sync" else asyncio.run(client.acompletion("q"))
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("backend", SAYS)
def test_a_redirect_is_not_followed(backend: str) -> None:
    with (
        OpenAIServer() as other,
        OpenAIServer(reply=lambda _: Raw(307, {}, {"location": f"{other.base_url}/elsewhere"})) as server,
    ):
        for ask in (lambda c: c.completion("q"), lambda c: asyncio.run(c.acompletion("q"))):
            with pytest.raises(ProviderError):
                ask(client_of(backend, server, max_retries=0))
        assert other.requests == []


@pytest.mark.parametrize("backend", SAYS)
def test_a_body_that_is_no_reply_is_a_provider_error(backend: str) -> None:
    for body in ({}, [], b"<html>", {"content": 5, "choices": 5, "candidates": 5}):
        with OpenAIServer(reply=lambda _, body=body: Raw(body=body)) as server:
            with pytest.raises(ProviderError):
                client_of(backend, server, max_retries=0).completion("q")


@pytest.mark.parametrize("backend", SAYS)
def test_the_loop_runs_on_it(backend: str) -> None:
    with OpenAIServer(reply=lambda _: Raw(body=SAYS[backend](cell("final_answer(6 * 7)")))) as server:
        client = client_of(backend, server)
        root = server.base_url.removesuffix("/v1")
        kwargs: dict[str, Any] = {"api_key": SECRET, "model_name": "m"}
        kwargs |= {"azure_endpoint": root} if backend == "azure_openai" else {}
        kwargs |= {"base_url": server.base_url if backend == "portkey" else root} if backend != "azure_openai" else {}
        del client
        completion = RLM(backend=backend, backend_kwargs=kwargs).completion("c")
        assert completion.response == "42"
        assert completion.usage_summary.model_usage_summaries["m"].total_input_tokens == 113


def test_anthropic_gets_every_system_message_and_the_chat_apart() -> None:
    with OpenAIServer(reply=lambda _: Raw(body=anthropic_says("ok"))) as server:
        client_of("anthropic", server, sampling_args={"temperature": 0.5}).completion(CHAT)
        body = server.requests[0].body
        assert body["system"] == "be brief\n\nand kind"
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        assert (body["max_tokens"], body["temperature"]) == (32_768, 0.5)
        headers = server.requests[0].headers
        assert SECRET in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))


def test_gemini_gets_roles_and_sampling_under_its_own_names() -> None:
    with OpenAIServer(reply=lambda _: Raw(body=gemini_says("ok"))) as server:
        client_of("gemini", server, sampling_args={"max_tokens": 7, "temperature": 0.5}).completion(CHAT)
        body = server.requests[0].body
        assert body["systemInstruction"]["parts"] == [{"text": "be brief\n\nand kind"}]
        assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
        assert body["generationConfig"] == {"maxOutputTokens": 7, "temperature": 0.5}
        assert server.requests[0].headers["x-goog-api-key"] == SECRET


def test_azure_asks_its_deployment() -> None:
    with OpenAIServer(reply=lambda _: Raw(body=openai_says("ok"))) as server:
        client_of("azure_openai", server).completion("q")
        assert server.requests[0].path == "/openai/deployments/d/chat/completions?api-version=2024-02-01"
        assert server.requests[0].headers["api-key"] == SECRET


def test_portkey_sends_its_key_in_its_own_header() -> None:
    with OpenAIServer(reply=lambda _: Raw(body=openai_says("ok"))) as server:
        client_of("portkey", server, virtual_key="vk").completion("q")
        headers = server.requests[0].headers
        assert (headers["x-portkey-api-key"], headers["x-portkey-virtual-key"]) == (SECRET, "vk")
        assert SECRET not in headers["authorization"]


@pytest.mark.parametrize(
    ("backend", "variables"),
    [
        ("anthropic", ["ANTHROPIC_API_KEY"]),
        ("gemini", ["GEMINI_API_KEY"]),
        ("azure_openai", ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"]),
    ],
)
def test_keys_come_from_the_providers_own_variables(
    backend: str, variables: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises((ProviderError, ValueError), match=variables[-1]):
        get_client(backend, {"model_name": "m"})
    for variable in variables:
        monkeypatch.setenv(variable, "https://set.example")
    assert isinstance(get_client(backend, {"model_name": "m"}), Client)


def test_defaults_are_upstreams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    gemini = get_client("gemini", {})
    assert isinstance(gemini, GeminiClient) and gemini.model_name == "gemini-2.5-flash"
    with pytest.raises(TypeError):
        get_client("portkey", {})


@pytest.mark.parametrize(
    ("backend", "package", "extra"),
    [
        ("anthropic", "anthropic", "anthropic"),
        ("gemini", "google.genai", "gemini"),
        ("portkey", "portkey_ai", "portkey"),
        ("litellm", "litellm", "litellm"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(
    backend: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'rlm-secure\[{extra}\]'"):
        get_client(backend, {"model_name": "m", **({} if backend == "litellm" else {"api_key": "k"})})
