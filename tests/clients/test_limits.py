"""The limits of one call: its deadline over all attempts, the bytes of its reply, and which attempt is made again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rlm_secure import Policy
from rlm_secure.clients import Client
from rlm_secure.clients.base import DEFAULT_REPLY_BYTES, Completion
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.openai import OpenAIClient
from rlm_secure.clients.reply import Reply
from rlm_secure.errors import ProviderError
from tests.clients.hostile import HostileProvider, says
from tests.clients.victim import client_of
from tests.servers.openai_server import OpenAIServer, Raw

WAYS = ["blocking", "awaited"]


def ask(client: Client, way: str, timeout: float | None = None, prompt: str = "q") -> Completion:
    if way == "blocking":
        return client.complete(prompt, timeout=timeout)

    async def asked() -> Completion:
        try:
            return await client.acomplete(prompt, timeout=timeout)
        finally:
            await client.aclose()

    return asyncio.run(asked())


def openai(server: OpenAIServer, **kwargs: Any) -> Client:
    return client_of("openai", server.base_url.removesuffix("/v1"), **kwargs)


class Thoughtful(OpenAIClient):
    """Takes seconds over a reply that is there, as a parser may."""

    def _read(self, *args: Any) -> Completion:
        time.sleep(3)
        return super()._read(*args)


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_does_not_make_up_for_a_deadline_that_passed_while_it_was_read(way: str) -> None:
    with OpenAIServer(reply="late") as server:
        client = Thoughtful(api_key="k", model_name="m", base_url=server.base_url)
        ask(client, way)  # imports the SDK
        with pytest.raises(ProviderError, match="within 2 seconds") as caught:
            ask(client, way, timeout=2)
        assert caught.value.retryable
        assert len(server.requests) == 2
        assert client.get_usage_summary().total_calls == 2  # the provider was paid for it


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_attempts_are_made_again_as_often_as_was_said(backend: str, way: str) -> None:
    with OpenAIServer(reply=lambda _: Raw(503, {}, {"retry-after-ms": "1"})) as server:
        client = client_of(backend, server.base_url.removesuffix("/v1"), max_retries=2)
        with pytest.raises(ProviderError, match="HTTP 503"):
            ask(client, way)
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "headers", "requests"),
    [
        (500, {"retry-after-ms": "1", "x-should-retry": "false"}, 1),
        (500, {"retry-after": "0.001"}, 3),
        (500, {"retry-after": "59"}, 1),  # there is less time than that
        (429, {"retry-after-ms": "1"}, 3),
        (400, {"retry-after-ms": "1"}, 1),
        (307, {"location": "/elsewhere", "retry-after-ms": "1"}, 1),
    ],
)
def test_a_provider_says_when_not_whether_there_is_time(status: int, headers: dict[str, str], requests: int) -> None:
    with OpenAIServer(reply=lambda _: Raw(status, {}, headers)) as server:
        with pytest.raises(ProviderError, match=f"HTTP {status}"):
            openai(server, timeout=5).complete("q")
        assert len(server.requests) == requests


@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_that_succeeds_after_failures_is_the_reply(way: str) -> None:
    replies: list[Any] = [Raw(503, {}, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), "at last"]
    with OpenAIServer(reply=lambda _: replies.pop(0)) as server:
        assert ask(openai(server), way).text == "at last"


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_a_connection_that_breaks_is_tried_again(backend: str) -> None:
    with HostileProvider() as server:
        with pytest.raises(ProviderError, match="could not reach") as caught:
            client_of(backend, server.address, max_retries=1).complete("deed: hang-up")
        assert caught.value.retryable
        assert server.requests == {"hang-up": 2}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("replies", "cut_off"),
    [
        (["x" * 200_000], True),
        ([Raw(body=b"no JSON")], True),
        ([Raw(body={"choices": []})], True),
        ([Raw(400, {})], False),
        ([Raw(503, {}, {"retry-after-ms": "1"})] * 2, False),
        ([OSError, Raw(400, {})], True),  # of the attempt that broke off nobody knows
    ],
    ids=["too large", "no JSON", "no choice", "refused", "failed", "broken off, then refused"],
)
def test_an_error_says_whether_the_provider_may_charge_for_the_call(replies: list[Any], cut_off: bool, way: str) -> None:
    left = list(replies)

    def reply(_body: dict[str, Any]) -> Any:
        made = left.pop(0)
        if made is OSError:
            raise OSError
        return made

    with OpenAIServer(reply=reply) as server:
        client = openai(server, max_retries=1)
        client.reply_bytes = 10_000
        with pytest.raises(ProviderError) as caught:
            ask(client, way)
    assert caught.value.cut_off is cut_off and not left
    assert pickle.loads(pickle.dumps(caught.value)).cut_off is cut_off


def test_nobody_charges_for_a_call_that_reached_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ProviderError, match="could not reach") as caught:
        client_of("openai", address, max_retries=0).complete("q")
    assert not caught.value.cut_off


def test_a_clients_limit_of_a_reply_is_the_one_that_is_set() -> None:
    assert Policy.load("strict").lm.reply_bytes == DEFAULT_REPLY_BYTES
    with OpenAIServer(reply="x" * 200_000) as server:
        client = openai(server)
        assert len(client.complete("q").text) == 200_000
        client.reply_bytes = 1000
        with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
            client.complete("q")


@pytest.mark.parametrize("text", ["\u20ac" * 300_000, "\U0001f600" * 300_000, '\\\n"\u0001' * 100_000])
@pytest.mark.parametrize("escaped", [True, False])
def test_long_texts_of_any_characters_are_read(text: str, escaped: bool) -> None:
    body = json.dumps(json.loads(says("/v1/chat/completions", text)), ensure_ascii=escaped).encode()
    with OpenAIServer(reply=lambda _: Raw(body=body)) as server:
        assert openai(server).complete("q").text == text


@pytest.mark.parametrize("tokens", ["many", [1], {"a": 1}])
def test_a_count_of_tokens_is_a_number(tokens: Any) -> None:
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": 2}
    with OpenAIServer(usage=usage) as server:
        with pytest.raises(ProviderError, match="where it counts tokens"):
            openai(server).complete("q")


@pytest.mark.parametrize(("told", "counted"), [(10**4000, 2**53), ("9" * 4000, 2**53), (-5, 0), (1.5, 1)])
def test_a_count_beyond_reason_can_still_be_reckoned_with(told: Any, counted: int) -> None:
    usage = {"prompt_tokens": told, "completion_tokens": 1, "total_tokens": 2}
    with OpenAIServer(usage=usage) as server:
        assert openai(server).complete("q").usage.total_input_tokens == counted


def reply_of(headers: list[tuple[bytes, bytes]], status: int = 200, reply_bytes: int = 1000) -> Reply:
    call = ModelCall("X", 60, reply_bytes)
    with call.attempt():
        return Reply(call, status, headers)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: reply_of([(b"Content-Encoding", b"GZIP")]), "compressed"),
        (lambda: reply_of([(b"content-encoding", b"identity"), (b"content-encoding", b"br")]), "compressed"),
        (lambda: reply_of([(b"content-length", b"9" * 5000)]), "lm.reply_bytes = 1,000"),
        (lambda: reply_of([(b"a", b"b")] * 129), "128 headers"),
    ],
)
def test_headers_end_a_call_before_a_body_comes(make: Callable[[], Reply], reason: str) -> None:
    with pytest.raises(ProviderError, match=reason):
        make()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>", "not read as JSON"),
        (b"[]", "no JSON object"),
        (b'"text"', "no JSON object"),
        ('{"a":1}'.encode("utf-16"), "not UTF-8"),
        ('{"a":1}'.encode("utf-32-le"), "not UTF-8"),
        (b'{"a":"\xff"}', "not read as JSON"),
        (b'{"a":1,"a":2}', "repeats a key"),
        (b'{"a":' + b"[" * 65 + b"]" * 65 + b"}", "deeper than 64"),
        (b'{"a":"' + b"x" * 1_050_000 + "\U0001f600".encode() + b'"}', "more memory than four times"),
        (b'{"a":[' + b"0," * 5000 + b"0]}", "more than 4"),
        (b"", "not read as JSON"),
    ],
)
def test_a_body_ends_a_call_before_an_sdk_parses_it(body: bytes, reason: str) -> None:
    reply = reply_of([(b"content-encoding", b"identity"), (b"content-length", b"nonsense")], reply_bytes=1_000_000)
    assert reply.add(body)
    with pytest.raises(ProviderError, match=reason):
        reply.content()


@pytest.mark.parametrize(
    ("headers", "body", "content"),
    [
        ([], b'{"error":{"code":"not_found_error"}}', b'{"error":{"code":"not_found_error"}}'),
        ([], b"x" * 70_000, b""),
        ([], b"[" * 5000, b""),
        ([(b"content-encoding", b"gzip")], b'{"error":1}', b""),
    ],
)
def test_of_a_failure_only_a_short_code_is_read(headers: list[Any], body: bytes, content: bytes) -> None:
    reply = reply_of([*headers, (b"location", b"/"), (b"set-cookie", b"a=b"), (b"X-Id", b"7")], status=400)
    reply.add(body)
    assert reply.content() == content
    assert reply.headers == [(b"x-id", b"7"), (b"content-type", b"text/plain; charset=utf-8")]


def test_nothing_of_a_character_set_reaches_an_sdk() -> None:
    for said in (b"application/json; charset=zip", b"application/vnd.api+json; charset=utf-7"):
        assert reply_of([(b"content-type", said)]).headers == [(b"content-type", b"application/json")]


def test_a_call_counts_what_comes_and_keeps_its_first_failure() -> None:
    call = ModelCall("X", 60, 1000)
    with call.attempt():
        call.arrived(100_000)
        with pytest.raises(ProviderError, match="lm.reply_bytes") as first:
            call.arrived(100_000)
        assert call.refuse("something else") is first.value
        assert call.end(call.timed_out()) is first.value
    late = ModelCall("X", -1, 1000)
    with pytest.raises(ProviderError, match="no reply within"), late.attempt():
        raise AssertionError("there was no time for an attempt")
    call = ModelCall("X", 60, 1000)
    with call.attempt(), pytest.raises(ProviderError, match="small pieces"):
        for _ in range(20_000):
            call.piece()


def test_reading_a_reply_takes_time_in_proportion_to_it() -> None:
    def cost(bytes_: int, unit: bytes) -> float:
        body = b'{"a":"' + unit * (bytes_ // len(unit)) + b'"}'
        best = 1e9
        for _ in range(3):
            reply = reply_of([], reply_bytes=8_000_000)
            began = time.process_time()
            for at in range(0, len(body), 65536):
                reply.add(body[at : at + 65536])
            reply.content()
            best = min(best, time.process_time() - began)
        return best

    for unit in (b"x", b'\\"', b"\\\\", b"[", b",", "\u20ac".encode(), b"\\u20ac"):
        assert cost(1_600_000, unit) <= 2.3 * cost(800_000, unit) + 0.01, unit


@contextlib.contextmanager
def dripping_through_a_proxy() -> Iterator[str]:
    """A proxy that speaks TLS, and behind it a provider whose first record comes a byte at a time."""
    certificates = Path(__file__).parents[1] / "broker" / "tls"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "certificate.pem", certificates / "key.pem")
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError), context.wrap_socket(listener.accept()[0], server_side=True) as proxy:
            proxy.recv(65536)
            proxy.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            proxy.recv(65536)
            proxy.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
            for _ in range(100):
                if over.wait(0.1):
                    break
                proxy.sendall(b"\0")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def test_records_within_a_proxys_come_until_the_deadline_only() -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with dripping_through_a_proxy() as address:
        through = httpx.Client(proxy=httpx.Proxy(address, ssl_context=context), verify=context)
        client = OpenAIClient("key", "m", "https://provider.example/v1", max_retries=0, http_client=through)
        began = time.monotonic()
        with through, pytest.raises(ProviderError, match="no reply within 1 seconds"):
            client.complete("q", timeout=1)
        assert time.monotonic() - began < 3
