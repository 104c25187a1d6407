"""Replies that arrive in pieces: the real SDKs against a server on this machine, and every limit of a reply."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.clients import Client, Completion, get_client
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.streaming import StreamedEvents
from rlm_secure.errors import ProviderError
from rlm_secure.events import ModelCalled, RunCompleted, TextDelta
from rlm_secure.rlm.deltas import Deltas
from rlm_secure.rlm.rlm import RLM
from tests.growth.cost import assert_linear
from tests.loops import Heard, cell, scripted
from tests.servers.openai_server import OpenAIServer, Raw, Stream, streamed

SECRET = "sk-THISISTHEKEY1234567890"
MIB = 1024 * 1024
USAGE = {"prompt_tokens": 113, "completion_tokens": 2, "total_tokens": 115}


def anthropic_events(words: list[str]) -> list[Any]:
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {"input_tokens": 3, "cache_read_input_tokens": 110, "output_tokens": 1},
    }  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": word}} for word in words),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]


def gemini_events(words: list[str]) -> list[Any]:
    told = [{"text": "hm", "thought": True}, *({"text": word} for word in words)]
    usage = {"promptTokenCount": 113, "candidatesTokenCount": 1, "thoughtsTokenCount": 1}
    last = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}], "usageMetadata": usage}
    return [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in told] + [last]


def openai_events(words: list[str]) -> list[Any]:
    events = streamed("", USAGE)
    said = [{**events[0], "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in words]
    return [*said, *events]


EVENTS: dict[str, Callable[[list[str]], list[Any]]] = {
    "openai": openai_events,
    "portkey": openai_events,
    "azure_openai": openai_events,
    "anthropic": anthropic_events,
    "gemini": gemini_events,
}


def client_of(backend: str, server: OpenAIServer, **kwargs: Any) -> Client:
    root = server.base_url.removesuffix("/v1")
    where = {
        "openai": {"base_url": server.base_url},
        "portkey": {"base_url": server.base_url},
        "azure_openai": {"azure_endpoint": root, "azure_deployment": "d", "api_version": "2025-01-01"},
        "anthropic": {"base_url": root},
        "gemini": {"base_url": root},
    }[backend]
    reply_bytes = kwargs.pop("reply_bytes", None)
    client = get_client(backend, {"api_key": SECRET, "model_name": "m", "max_retries": 0, **where, **kwargs})
    assert isinstance(client, Client)
    if reply_bytes is not None:
        client.reply_bytes = reply_bytes
    return client


def asked(client: Client, heard: Callable[[int, str], None] = lambda index, text: None) -> Completion:
    async def ask() -> Completion:
        try:
            return await client.astream("q", heard)
        finally:
            await client.aclose()

    return asyncio.run(ask())


def said(*words: str) -> list[tuple[int, str]]:
    return list(enumerate(words))


@pytest.mark.parametrize("backend", EVENTS)
def test_the_text_arrives_in_pieces_with_the_usage_of_its_call(backend: str) -> None:
    heard: list[tuple[int, str]] = []
    with OpenAIServer(reply=lambda _: Stream(EVENTS[backend](["He", "llo\u2028", "wörld 🎈"]))) as server:
        client = client_of(backend, server)
        completion = asked(client, lambda index, text: heard.append((index, text)))
        if backend not in ("gemini",):
            assert server.requests[0].body["stream"] is True
    assert heard == said("He", "llo\u2028", "wörld 🎈")
    assert (completion.text, completion.model) == ("Hello\u2028wörld 🎈", "m")
    assert (completion.usage.total_input_tokens, completion.usage.total_output_tokens) == (113, 2)
    assert client.get_usage_summary().total_calls == 1


@pytest.mark.parametrize("backend", EVENTS)
def test_pieces_are_told_before_the_reply_is_complete(backend: str) -> None:
    at: list[float] = []
    with OpenAIServer(reply=lambda _: Stream(EVENTS[backend](["a"] * 6), delay=0.1)) as server:
        asked(client_of(backend, server), lambda index, text: at.append(time.monotonic()))
    assert at[-1] - at[0] > 0.3


def test_openai_is_asked_for_the_usage_and_old_azure_is_not() -> None:
    with OpenAIServer(reply="two words") as server:
        asked(client_of("openai", server, sampling_args={"stream_options": {"include_obfuscation": False}}))
        assert server.requests[0].body["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    with OpenAIServer(reply="two words") as server:
        completion = asked(client_of("azure_openai", server, api_version="2024-02-01"))
        assert "stream_options" not in server.requests[0].body
    assert (completion.text, completion.usage.total_output_tokens) == ("two words", 3)


def test_of_several_answers_at_the_same_time_the_first_is_read() -> None:
    events = openai_events(["first"])
    other = {**events[0], "choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]}
    with OpenAIServer(reply=lambda _: Stream([other, *events])) as server:
        assert asked(client_of("openai", server)).text == "first"


def test_a_refusal_is_text() -> None:
    events = streamed("", USAGE)
    refusal = {**events[0], "choices": [{"index": 0, "delta": {"refusal": "no"}, "finish_reason": None}]}
    with OpenAIServer(reply=lambda _: Stream([refusal, *events])) as server:
        assert asked(client_of("openai", server)).text == "no"


def test_a_client_of_ones_own_that_blocks_is_told_in_one_piece() -> None:
    import openai

    heard: list[tuple[int, str]] = []
    with OpenAIServer(reply="two words") as server, openai.DefaultHttpxClient() as own:
        client = client_of("openai", server, http_client=own)
        asked(client, lambda index, text: heard.append((index, text)))
        assert "stream" not in server.requests[0].body
    assert heard == said("two words")


# -- what a provider may do ------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", EVENTS)
def test_a_reply_that_breaks_off_is_no_reply(backend: str) -> None:
    events = EVENTS[backend](["half of "])
    cut = [each for each in events if b"half" in (each if isinstance(each, bytes) else json.dumps(each).encode())]
    with OpenAIServer(reply=lambda _: Stream(cut)) as server:
        with pytest.raises(ProviderError, match="broke off before its end|without usage"):
            asked(client_of(backend, server))


@pytest.mark.parametrize("backend", EVENTS)
def test_more_text_than_a_reply_may_have_ends_the_call(backend: str) -> None:
    heard: list[str] = []
    with OpenAIServer(reply=lambda _: Stream(EVENTS[backend](["x" * 1_000] * 100))) as server:
        with pytest.raises(ProviderError, match=r"takes more than lm\.reply_bytes = 10,000"):
            asked(client_of(backend, server, reply_bytes=10_000), lambda index, text: heard.append(text))
    assert len(heard) == 10


def forever(piece: bytes) -> Iterable[bytes]:
    while True:
        yield piece


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "piece",
    [b": a comment\n" * 4_096, b"data: {}\n\n" * 4_096, b"data: " + b"x" * 65_536, b"\n" * 65_536, b"data:\n" * 8_192],
    ids=["comments", "empty events", "one line", "empty lines", "empty data"],
)
def test_a_stream_without_an_end_is_ended_by_its_bytes(backend: str, piece: bytes) -> None:
    with OpenAIServer(reply=lambda _: Stream(forever(piece))) as server:
        with pytest.raises(ProviderError, match="takes more than|too many|no reply|not read|without|failed"):
            asked(client_of(backend, server, reply_bytes=4_096, timeout=20))


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_a_stream_that_drips_is_ended_by_its_time(backend: str) -> None:
    began = time.monotonic()
    with OpenAIServer(reply=lambda _: Stream(forever(b": still there\n\n"), delay=0.05)) as server:
        with pytest.raises(ProviderError, match=r"within 0\.5 seconds"):
            asked(client_of(backend, server, timeout=0.5))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "data",
    [b"[" * 10_000, b"[]", b"5", b"not json", b"{" + b'"a":[],' * 100_000 + b"}", b'{"a":NaN}', b"\xff\xfe{}", b"\0{}"],
)
def test_an_event_that_is_not_a_small_object_ends_the_call(backend: str, data: bytes) -> None:
    with OpenAIServer(reply=lambda _: Stream([b"event: message_start\ndata: " + data + b"\n\n"])) as server:
        with pytest.raises(ProviderError, match="call was ended"):
            asked(client_of(backend, server, reply_bytes=MIB))


@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_an_error_in_the_stream_carries_nothing_of_the_providers_text(backend: str) -> None:
    body = {"type": "error", "error": {"type": SECRET, "message": SECRET, "status": SECRET, "code": 500}}
    event = b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"
    with OpenAIServer(reply=lambda _: Stream([event])) as server:
        with pytest.raises(ProviderError) as caught:
            asked(client_of(backend, server))
    assert "THISISTHEKEY" not in str(caught.value)


def test_compressed_streams_and_errors_are_as_without_a_stream() -> None:
    compressed = Raw(200, b"x", {"content-type": "text/event-stream", "content-encoding": "gzip"})
    for raw, why in ((compressed, "compressed"), (Raw(401, {"error": {"message": SECRET}}), "HTTP 401")):
        with OpenAIServer(reply=lambda _, raw=raw: raw) as server:
            with pytest.raises(ProviderError, match=why):
                asked(client_of("openai", server))


def test_a_server_that_does_not_stream_is_an_error() -> None:
    whole = Raw(200, {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": []})
    with OpenAIServer(reply=lambda _: whole) as server:
        with pytest.raises(ProviderError, match="broke off"):
            asked(client_of("openai", server))


def test_an_attempt_after_one_that_failed_begins_anew() -> None:
    heard: list[tuple[int, str]] = []
    tries: list[int] = []

    def cut() -> Iterable[Any]:
        yield openai_events(["lost"])[0]
        raise BrokenPipeError

    def reply(_: object) -> Stream:
        tries.append(1)
        return Stream(cut() if len(tries) == 1 else openai_events(["kept"]))

    with OpenAIServer(reply=reply) as server:
        completion = asked(client_of("openai", server, max_retries=1), lambda *piece: heard.append(piece))
    assert completion.text == "kept"
    assert heard == [(0, "lost"), (0, "kept")]


# -- the decoder ------------------------------------------------------------------------------------------


def events_of(*pieces: bytes, reply_bytes: int = MIB) -> list[bytes]:
    call = ModelCall("Test", 60.0, reply_bytes)
    call.on_text = lambda index, text: None
    with call.attempt():
        events = StreamedEvents(call)
        return [event for piece in pieces for event in events.add(piece)]


@given(st.lists(st.integers(1, 9), max_size=30))
def test_pieces_may_begin_anywhere(cuts: list[int]) -> None:
    body = 'id: 7\nevent: a.b_c\ndata: {"t":\ndata: "é\u2028"}\r\n\r\n: c\ndata:{}\n\nevent: B\ndata: {}\n\n'.encode()
    pieces = []
    for cut in cuts:
        pieces.append(body[:cut])
        body = body[cut:]
    expected = [b'event: a.b_c\ndata: {"t": "\\u00e9\\u2028"}\n\n', b"data: {}\n\n", b"data: {}\n\n"]
    assert events_of(*pieces, body) == expected


def test_nothing_follows_the_end() -> None:
    assert events_of(b"data: [DONE]\n\ndata: {}\n\n", b"data: not json\n\n") == [b"data: [DONE]\n\n"]
    assert events_of(b"\n\nevent: empty\n\n", b"data: {}") == []


def test_what_is_not_kept_is_bounded_as_well() -> None:
    with pytest.raises(ProviderError, match="takes more than"):
        events_of(*[b": c\n" * 16_384] * 200, reply_bytes=1_024)
    with pytest.raises(ProviderError, match="takes more than"):
        events_of(b"data: " + b"x" * 100_000, reply_bytes=1_024)
    with pytest.raises(ProviderError, match="takes more than"):
        events_of(b"data:\n" * 2_000, reply_bytes=1_024)
    with pytest.raises(ProviderError, match="too many small pieces"):
        events_of(b"data: {}\n\n" * 20_000, reply_bytes=16_384)
    with pytest.raises(ProviderError, match="too many small pieces"):
        events_of(*[b"\n"] * 100_000, reply_bytes=1_024)


@pytest.mark.parametrize("unit", [b"data: {}\n\n", b"data:\n", b"\n", b"x", b"data: x", b"event: a\n", b"\r\n"])
def test_twice_the_stream_takes_twice_the_time(unit: bytes) -> None:
    def read(body: bytes) -> None:
        with contextlib.suppress(ProviderError):
            events_of(*(body[at : at + 4_096] for at in range(0, len(body), 4_096)), reply_bytes=64 * MIB)

    assert_linear(lambda size: unit * size, read, begin=1_000)


# -- in a run ---------------------------------------------------------------------------------------------


def spoken(events: Iterable[object]) -> list[str]:
    texts: list[str] = []
    for event in events:
        if isinstance(event, TextDelta):
            if event.index == 0:
                texts.append("")
            texts[-1] += event.text
    return texts


def test_stream_yields_the_text_of_the_root_as_it_arrives() -> None:
    turns = ["I will look.\n" + cell("print(llm_query('q'))"), "FINAL(done)"]
    events = list(scripted(turns, "a reply").stream("c"))
    assert spoken(events) == turns
    deltas = [event for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 2
    assert {(event.depth, event.purpose) for event in deltas} == {(0, "turn")}
    calls = [event for event in events if isinstance(event, ModelCalled)]
    assert [event.purpose for event in calls] == ["turn", "llm_query", "turn"]
    assert events.index(deltas[0]) < events.index(calls[0]) < events.index(deltas[-1])
    assert isinstance(events[-1], RunCompleted)


def test_a_child_and_a_completion_are_silent() -> None:
    heard = Heard()
    turns = [cell("print(rlm_query('q'))"), "FINAL(done)"]
    scripted(turns, child_turns=["FINAL(child)"], max_depth=2, on_event=heard).completion("c")
    assert heard.of(TextDelta) == []
    events = scripted(turns, child_turns=["FINAL(child)"], max_depth=2).stream("c")
    assert spoken(events) == turns


def test_the_last_answer_is_told_and_a_summary_is_not() -> None:
    def turn(messages: list[dict[str, str]]) -> str:
        return "a summary" if "about to be cut" in messages[-1]["content"] else "word " * 5_000

    kwargs = {"backend_kwargs": {"model_name": "m"}, "windows": {"m": 8_000}, "compaction_threshold_pct": 0.5}
    events = list(scripted(turn, compaction=True, max_iterations=2, **kwargs).stream("c"))
    assert spoken(events) == ["word " * 5_000] * 3
    assert [event.purpose for event in events if isinstance(event, TextDelta) and not event.index] == ["turn", "turn", "answer"]


def test_half_of_a_pair_is_told_encodable() -> None:
    events = list(scripted(["FINAL(" + "x" * 9 + "\ud800)"]).stream("c"))
    assert "\\ud800" in spoken(events)[0]
    spoken(events)[0].encode()


def test_what_the_policy_masks_is_masked_wherever_a_piece_ends() -> None:
    text = "first line\nthe customer is ACME-12345678 and the key is sk-abcdefghij0123456789xyz\n\nFINAL(ACME-12345678)"
    policy = {"extends": "strict", "data": {"redact": ["ACME-[0-9]{8}"]}}
    events = list(scripted([text], policy=policy).stream("c"))
    masked = "first line\nthe customer is [redacted] and the key is [redacted]\n\nFINAL([redacted])"
    assert spoken(events) == [masked]
    deltas = [event for event in events if isinstance(event, TextDelta)]
    assert [event.index for event in deltas] == list(range(len(deltas)))
    assert len(deltas) > 2


def test_held_text_of_an_attempt_that_failed_is_forgotten() -> None:
    heard = Heard()
    deltas = Deltas(heard, "turn", ("ACME",))
    for index, text in ((0, "lost\nlost"), (0, "ke"), (1, "pt AC"), (2, "ME")):
        deltas(index, text)
    deltas.end()
    assert [(event.index, event.text) for event in heard.of(TextDelta)] == [(0, "lost\n"), (0, "kept [redacted]")]


def test_a_line_of_many_pieces_is_held_in_linear_time() -> None:
    def hold(size: int) -> None:
        deltas = Deltas(lambda event: None, "turn", ("ACME",))
        for index in range(size):
            deltas(index, "word ")
        deltas.end()

    assert_linear(lambda size: size, hold, begin=1_000)


def test_a_run_streams_from_a_server() -> None:
    with OpenAIServer(reply=cell("final_answer(6 * 7)")) as server:
        kwargs = {"model_name": "m", "api_key": SECRET, "base_url": server.base_url}
        events = list(RLM(backend="openai", backend_kwargs=kwargs).stream("c"))
        assert server.requests[0].body["stream"] is True
    assert spoken(events) == [cell("final_answer(6 * 7)")]
    last = events[-1]
    assert isinstance(last, RunCompleted) and last.completion is not None
    assert last.completion.response == "42"
    assert last.completion.usage_summary.total_output_tokens > 0
