"""The real openai SDK against a server on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rlm_secure.clients import get_client
from rlm_secure.clients.openai import OpenAIClient
from rlm_secure.errors import ProviderError
from tests.servers.openai_server import OpenAIServer, Raw

SECRET = "sk-proj-THISISTHEKEY1234567890"


def client_of(server: OpenAIServer, **kwargs) -> OpenAIClient:
    client = get_client("openai", {"api_key": SECRET, "model_name": "m", "base_url": server.base_url, **kwargs})
    assert isinstance(client, OpenAIClient)
    return client


def test_a_reply_comes_back_with_the_usage_of_its_call() -> None:
    with OpenAIServer(reply="two words") as server:
        client = client_of(server)
        first = client.complete("one two three")
        client.complete("one")
        assert (first.text, first.model) == ("two words", "m")
        assert (first.usage.total_calls, first.usage.total_input_tokens, first.usage.total_output_tokens) == (1, 3, 2)
        total = client.get_usage_summary().model_usage_summaries["m"]
        assert (total.total_calls, total.total_input_tokens, total.total_output_tokens) == (2, 4, 4)
        assert client.get_last_usage().total_input_tokens == 1


def test_a_str_is_one_user_message_and_a_list_is_sent_as_it_is() -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    with OpenAIServer() as server:
        client = client_of(server)
        assert client.completion("hello") == "ok"
        assert client.completion(messages) == "ok"
        assert server.requests[0].body == {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        assert server.requests[1].body["messages"] == messages
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_usage_is_exact_per_call_in_forty_threads() -> None:
    with OpenAIServer(reply=lambda body: body["messages"][0]["content"]) as server:
        client = client_of(server)
        with ThreadPoolExecutor(40) as pool:
            done = list(pool.map(lambda n: client.complete(" ".join(["w"] * n)), range(1, 41)))
        assert [each.usage.total_input_tokens for each in done] == list(range(1, 41))
        total = client.get_usage_summary().model_usage_summaries["m"]
        assert (total.total_calls, total.total_input_tokens) == (40, sum(range(1, 41)))


def test_async_calls_work_in_one_loop_after_another() -> None:
    with OpenAIServer(reply="x") as server:
        client = client_of(server)

        async def several() -> list[str]:
            texts = await asyncio.gather(*(client.acompletion("q") for _ in range(5)))
            await client.aclose()
            return texts

        assert asyncio.run(several()) == ["x"] * 5
        assert asyncio.run(several()) == ["x"] * 5
        assert client.get_usage_summary().model_usage_summaries["m"].total_calls == 10


def test_cancelling_a_call_ends_it_on_the_wire() -> None:
    with OpenAIServer(delay=20) as server:
        client = client_of(server)

        async def cancelled() -> None:
            task = asyncio.create_task(client.acompletion("q"))
            while not server.in_flight:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await client.aclose()

        began = time.monotonic()
        asyncio.run(cancelled())
        while server.in_flight and time.monotonic() - began < 5:
            time.sleep(0.01)
        assert (server.cut_off, server.in_flight) == (1, 0)


def test_sampling_arguments_go_into_every_request() -> None:
    with OpenAIServer() as server:
        sampling = {"temperature": 0.5, "max_tokens": 7, "extra_body": {"top_k": 3}}
        client = client_of(server, sampling_args=sampling)
        client.completion("q")
        client.completion("q")
        for seen in server.requests:
            assert seen.body["temperature"] == 0.5
            assert seen.body["max_completion_tokens"] == 7
            assert "max_tokens" not in seen.body
            assert seen.body["top_k"] == 3
        assert sampling == {"temperature": 0.5, "max_tokens": 7, "extra_body": {"top_k": 3}}


@pytest.mark.parametrize(
    ("extra", "cost"),
    [
        ({"cost": 0.25}, 0.25),
        ({"cost_details": {"upstream_inference_cost": 0.5}}, 0.5),
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 0.5}}, 0.5),
        ({"cost": "free"}, None),
        ({"cost": True}, None),
        ({}, None),
    ],
)
def test_cost_is_read_where_the_server_reports_it(extra: dict, cost: float | None) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, **extra}
    with OpenAIServer(usage=usage) as server:
        assert client_of(server).complete("q").usage.total_cost == cost


def test_usage_that_the_server_leaves_out_is_estimated() -> None:
    with OpenAIServer(reply="x" * 40, usage=None) as server:
        usage = client_of(server).complete("y" * 400).usage
        assert (usage.total_input_tokens, usage.total_output_tokens) == (100, 10)


def test_lone_surrogates_in_a_prompt_do_not_stop_the_call() -> None:
    with OpenAIServer() as server:
        client_of(server).completion("a\ud800b\U0001f600")
        assert server.requests[0].body["messages"][0]["content"] == "a\\ud800b\U0001f600"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 503])
def test_an_error_carries_nothing_of_the_providers_text(status: int) -> None:
    leak = f"Incorrect key {SECRET} for org-SECRETORG at https://internal.example/v1"
    body = {"error": {"message": leak, "type": leak, "code": leak, "param": leak}}
    with OpenAIServer(reply=lambda _: Raw(status, body)) as server:
        with pytest.raises(ProviderError) as caught:
            client_of(server, max_retries=0).completion("q")
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__)
    for secret in ("sk-", "SECRETORG", "internal.example", "127.0.0.1"):
        assert secret not in shown
    assert f"HTTP {status}" in str(caught.value)
    assert caught.value.retryable == (status in (429, 500, 503))


def test_known_error_codes_are_named() -> None:
    body = {"error": {"message": "x", "code": "context_length_exceeded"}}
    with OpenAIServer(reply=lambda _: Raw(400, body)) as server:
        with pytest.raises(ProviderError, match="longer than the model's context"):
            client_of(server).completion("q")


def test_a_server_that_is_not_there_is_a_retryable_provider_error() -> None:
    with OpenAIServer() as server:
        address = server.base_url
    client = get_client("openai", {"api_key": "k", "model_name": "m", "base_url": address, "max_retries": 0})
    with pytest.raises(ProviderError, match="could not reach") as caught:
        client.completion("q")
    assert caught.value.retryable
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_slow_server_is_given_up_after_the_timeout(mode: str) -> None:
    with OpenAIServer(delay=10) as server:
        client = client_of(server, timeout=0.3, max_retries=0)
        began = time.monotonic()
        with pytest.raises(ProviderError, match=r"within 0\.3 seconds") as caught:
            client.completion("q") if mode == "sync" else asyncio.run(client.acompletion("q"))
        assert time.monotonic() - began < 3
        assert caught.value.retryable


def test_a_call_is_repeated_as_often_as_was_said_and_in_one_place() -> None:
    with OpenAIServer(reply=lambda _: Raw(500, {}, {"retry-after-ms": "1"})) as server:
        with pytest.raises(ProviderError):
            client_of(server, max_retries=2).completion("q")
        assert len(server.requests) == 3


def test_a_redirect_is_not_followed() -> None:
    with OpenAIServer() as other:
        with OpenAIServer(reply=lambda _: Raw(307, {}, {"location": f"{other.base_url}/chat/completions"})) as server:
            for call in (
                lambda c: c.completion("secret prompt"),
                lambda c: asyncio.run(c.acompletion("secret prompt")),
            ):
                with pytest.raises(ProviderError):
                    call(client_of(server, max_retries=0))
        assert other.requests == []


@pytest.mark.parametrize(
    "raw",
    [
        Raw(200, b"<html>a login page</html>", {"content-type": "text/html"}),
        Raw(200, b"{not json", {"content-type": "application/json"}),
        Raw(200, {"choices": []}),
        Raw(200, {"choices": None}),
        Raw(200, {"choices": [{"message": None}]}),
        Raw(200, {"choices": [{"message": {"content": {"a": 1}}}]}),
        Raw(200, []),
    ],
)
def test_a_body_that_is_no_completion_is_a_provider_error(raw: Raw) -> None:
    with OpenAIServer(reply=lambda _: raw) as server:
        with pytest.raises(ProviderError):
            client_of(server, max_retries=0).completion("q")


def test_a_reply_without_content_is_the_refusal_or_empty() -> None:
    bodies = iter([{"content": None, "refusal": "no"}, {"content": None}])
    with OpenAIServer(reply=lambda _: Raw(200, {"choices": [{"message": next(bodies)}]})) as server:
        client = client_of(server)
        assert [client.completion("q"), client.completion("q")] == ["no", ""]


def test_prompts_of_other_types_and_missing_models_are_value_errors() -> None:
    client = get_client("openai", {"api_key": "k", "model_name": "m"})
    for prompt in (None, 5, b"bytes", ["text"], {"role": "user"}):
        with pytest.raises(ValueError, match="Invalid prompt type"):
            client.completion(prompt)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Model name is required for OpenAI client"):
        get_client("openai", {"api_key": "k"}).completion("q")


@pytest.mark.parametrize(
    ("backend", "variable", "url"),
    [
        ("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
        ("vercel", "AI_GATEWAY_API_KEY", "https://ai-gateway.vercel.sh/v1"),
    ],
)
def test_known_servers_have_their_own_address_and_key(
    backend: str, variable: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the key of another provider")
    monkeypatch.delenv(variable, raising=False)
    kwargs = {"model_name": "m"}
    with pytest.raises(ProviderError, match=variable):
        get_client(backend, kwargs)
    monkeypatch.setenv(variable, "its own key")
    client = get_client(backend, kwargs)
    assert isinstance(client, OpenAIClient)
    assert (client.base_url, client._connections.settings["api_key"]) == (url, "its own key")
    assert kwargs == {"model_name": "m"}


def test_a_missing_key_is_said_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="set OPENAI_API_KEY"):
        get_client("openai", {"model_name": "m"})
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    assert isinstance(get_client("openai", {"model_name": "m"}), OpenAIClient)


def test_vllm_wants_an_address_and_sends_no_key_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(ValueError, match="base_url"):
        get_client("vllm", {"model_name": "m"})
    with OpenAIServer() as server:
        get_client("vllm", {"model_name": "m", "base_url": server.base_url}).completion("q")
        assert server.requests[0].headers["authorization"] == "Bearer none"


def test_no_env_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("OPENROUTER_API_KEY=planted\nPLANTED=1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(ProviderError):
        get_client("openrouter", {"model_name": "m"})
    assert "PLANTED" not in os.environ


def test_an_unknown_backend_is_a_value_error_that_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"Unknown backend: nope.*openai.*scripted"):
        get_client("nope", {})


def test_a_child_shares_the_connections_of_a_parent_with_the_same_settings() -> None:
    with OpenAIServer() as server:
        parent, child, stranger = client_of(server), client_of(server), client_of(server, api_key="other")
        child.inherit(parent)
        stranger.inherit(parent)
        assert child._connections is parent._connections
        assert stranger._connections is not parent._connections


def test_a_users_own_http_client_is_used() -> None:
    openai = pytest.importorskip("openai")
    before = threading.active_count()
    with OpenAIServer() as server, openai.DefaultHttpxClient(headers={"x-mine": "yes"}) as own:
        client = client_of(server, http_client=own)
        assert asyncio.run(client.acompletion("q")) == "ok"
        assert server.requests[0].headers["x-mine"] == "yes"
    assert threading.active_count() <= before + 1  # the one loop of this process


def test_a_message_of_a_long_conversation_costs_the_sdk_nothing() -> None:
    """Given as the SDK's own argument, each would be rewritten in hundreds of calls."""

    def calls_for(messages: int) -> int:
        count = 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        prompt = [{"role": "user", "content": f"message {number}"} for number in range(messages)]
        sys.setprofile(counted)
        try:
            client.complete(prompt)
        finally:
            sys.setprofile(None)
        assert server.requests[-1].body["messages"] == prompt
        return count

    with OpenAIServer() as server:
        client = client_of(server, sampling_args={"extra_body": {"top_k": 3}})
        calls_for(10)
        short, long = calls_for(10), calls_for(110)
        assert server.requests[-1].body["top_k"] == 3
    assert long - short < 100 * 10
