"""The object that serves cells: upstream's face, the gate before the ledger, and the messages of its protocol."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from contextlib import suppress
from unittest.mock import Mock

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.broker.protocol import Call
from rlm_secure.clients.scripted import ScriptedClient
from rlm_secure.compat.core.comms_utils import (
    FRAME_BYTES,
    LMRequest,
    LMResponse,
    send_lm_request,
    send_lm_request_batched,
    socket_recv,
    socket_request,
    socket_send,
)
from rlm_secure.environments import get_environment
from rlm_secure.errors import ProtocolViolation
from rlm_secure.policy import Gate
from rlm_secure.policy.model import LM, Policy
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.types import ModelUsageSummary, RLMChatCompletion, UsageSummary
from tests.effort import examples


def handler(**kwargs) -> LMHandler:
    return LMHandler(ScriptedClient(replies=lambda prompt: f"r({prompt})", model_name="m"), **kwargs)


def test_it_serves_a_call_and_opens_no_port() -> None:
    def listening() -> int:
        return sum(each.status == psutil.CONN_LISTEN for each in psutil.Process().net_connections())

    before = listening()
    with handler() as served:
        assert served.serve(Call("llm_query", ("q",))) == "r(q)"
        assert served(Call("llm_query_batched", ("a", "b"))) == ["r(a)", "r(b)"]
        assert served(Call("rlm_query", ("q",))) == "r(q)"
        assert served.address is served
        assert listening() == before


def test_an_environment_takes_it_as_its_handler() -> None:
    with handler() as served, get_environment("local", {"calls": served}) as environment:
        result = environment.execute_code("print(llm_query('q'))")
        assert result.stdout == "r(q)\n"
        assert [(call.prompt, call.response, call.root_model) for call in result.rlm_calls] == [("q", "r(q)", "m")]


def test_a_batch_that_is_too_large_is_refused_for_that_whatever_its_model_is_called() -> None:
    with handler() as served:  # the refusal is repeated once per prompt: a long name in it would be, too
        texts = served.serve(Call("llm_query_batched", ("",) * 10_000, model="\U0001f600" * 256))
        assert {"lm.batch" in text for text in texts} == {True}
        assert sum(map(len, texts)) < 2 << 20


def test_before_it_is_started_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        handler().serve(Call("llm_query", ("q",)))


def test_routing_is_by_name_then_by_depth() -> None:
    main, other, named = (ScriptedClient(replies=text) for text in ("main", "other", "named"))
    served = LMHandler(main, other_backend_client=other)
    served.register_client("n", named)
    assert served.get_client("n", depth=0) is named
    assert served.get_client(None, depth=1) is other
    assert served.get_client(None, depth=0) is main
    assert served.get_client(None, depth=2) is main


def test_a_client_serves_the_name_it_was_registered_under() -> None:
    mock = Mock()
    mock.model_name = "its own name"
    mock.completion.return_value = "served"
    gate = Gate(Policy(lm=LM(models=("alias",))))
    with LMHandler(ScriptedClient(replies="default"), gate=gate) as served:
        served.register_client("alias", mock)
        assert served.serve(Call("llm_query", ("q",), model="alias")) == "served"


def test_a_client_that_cannot_be_made_is_an_error_string() -> None:
    def broken(model: str) -> None:
        raise ValueError(f"/host/detail {model}")

    gate = Gate(Policy(lm=LM(models=("other",))))
    with LMHandler(ScriptedClient(replies="default"), gate=gate, make_client=broken) as served:
        assert served.serve(Call("llm_query", ("q",), model="other")) == "Error: LM query failed - ValueError"


def test_a_mock_client_of_upstreams_tests_serves() -> None:
    mock = Mock()
    mock.completion.return_value = "from the mock"
    mock.get_usage_summary.return_value = UsageSummary({"mock": ModelUsageSummary(1, 10, 5)})
    with LMHandler(mock) as served:
        assert served.completion("q") == "from the mock"
        usage = served.get_usage_summary()
    assert (usage.total_calls, usage.total_input_tokens) == (1, 10)


def test_requests_of_upstreams_protocol_are_answered() -> None:
    with handler() as served:
        one = send_lm_request(served.address, LMRequest(prompt="q"))
        assert one.success and one.chat_completion is not None
        assert (one.chat_completion.response, one.chat_completion.root_model) == ("r(q)", "m")
        several = send_lm_request_batched(served.address, ["a", "b"])
        assert [each.chat_completion and each.chat_completion.response for each in several] == ["r(a)", "r(b)"]
        empty = send_lm_request(served.address, LMRequest(prompt=""))
        assert empty.error == "Missing 'prompt' or 'prompts' in request."
        refused = send_lm_request(served.address, LMRequest(prompt="q", model="evil"))
        assert refused.error is not None and "evil" in refused.error
        typed = send_lm_request(served.address, LMRequest(prompts=[{"role": "system"}]))  # type: ignore[list-item]
        assert typed.error == "A prompt must be a string."


def test_a_failing_prompt_is_an_error_in_its_place() -> None:
    def reply(prompt: str) -> str:
        if prompt == "bad":
            raise RuntimeError("/host/path")
        return "ok"

    with LMHandler(ScriptedClient(replies=reply)) as served:
        responses = send_lm_request_batched(served, ["good", "bad"])
        assert [response.error for response in responses] == [None, "RuntimeError"]
        assert send_lm_request(served, LMRequest(prompt="bad")).error == "RuntimeError"


def test_usage_per_call_is_exact_when_calls_overlap() -> None:
    together = threading.Barrier(16, timeout=20)

    def reply(prompt: str) -> str:
        together.wait()
        return prompt

    with LMHandler(ScriptedClient(replies=reply)) as served:
        served.serve(Call("llm_query_batched", tuple("x" * 4 * n for n in range(1, 17))))
        answered = served.drain()
    tokens = [each.usage_summary.total_input_tokens for each in answered]
    assert tokens == list(range(1, 17))
    assert served.get_usage_summary().total_input_tokens == sum(tokens)
    assert served.drain() == []


# -- messages and frames ---------------------------------------------------------------------------------


COMPLETION = RLMChatCompletion("m", "p", "r", UsageSummary({"m": ModelUsageSummary(1, 2, 3)}), 0.5)


@pytest.mark.parametrize(
    "response",
    [
        LMResponse.success_response(COMPLETION),
        LMResponse.batched_success_response([COMPLETION, COMPLETION]),
        LMResponse.error_response("no"),
    ],
)
def test_a_response_survives_its_wire_form(response: LMResponse) -> None:
    wire = response.to_dict()
    assert set(wire) == {"error", "chat_completion", "chat_completions"}
    assert LMResponse.from_dict(json.loads(json.dumps(wire))) == response


def test_a_request_survives_its_wire_form() -> None:
    assert LMRequest(prompt="p").to_dict() == {"prompt": "p", "depth": -1}
    request = LMRequest(prompts=["a"], model="m", depth=1)
    assert LMRequest.from_dict(request.to_dict()) == request
    assert LMRequest.from_dict({"prompt": "p"}).depth == -1
    assert request.is_batched and not LMRequest(prompt="p").is_batched


def pair() -> tuple[socket.socket, socket.socket]:
    left, right = socket.socketpair()
    left.settimeout(5)
    right.settimeout(5)
    return left, right


def test_frames_arrive_whole_however_they_are_cut() -> None:
    left, right = pair()
    body = json.dumps({"text": "\ud800 x" * 100}).encode()

    def drip() -> None:
        for byte in struct.pack(">I", len(body)) + body:
            left.send(bytes([byte]))

    thread = threading.Thread(target=drip)
    thread.start()
    assert socket_recv(right) == {"text": "\\ud800 x" * 100}
    thread.join()


@pytest.mark.parametrize("data", [{"a": 1}, {}, {"t": "\u00e9\U0001f600\0"}])
def test_what_is_sent_is_received(data: dict) -> None:
    left, right = pair()
    socket_send(left, data)
    assert socket_recv(right) == data


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack(">I", FRAME_BYTES + 1),
        struct.pack(">I", 5) + b"{",
        struct.pack(">I", 4) + b"nope",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 200_000) + b"[" * 200_000,
        b"\0\0",
    ],
)
def test_bytes_that_are_no_frame_are_a_violation(raw: bytes) -> None:
    left, right = pair()
    threading.Thread(target=lambda: (left.sendall(raw), left.close())).start()
    with pytest.raises(ProtocolViolation):
        socket_recv(right)


def test_a_closed_connection_is_an_empty_frame() -> None:
    left, right = pair()
    left.close()
    assert socket_recv(right) == {}


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=64))
def test_no_bytes_raise_anything_but_a_violation(raw: bytes) -> None:
    left, right = pair()
    left.sendall(raw)
    left.close()
    try:
        assert isinstance(socket_recv(right), dict)
    except ProtocolViolation:
        pass
    right.close()


def test_a_server_of_ones_own_is_asked_over_its_socket() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                request = LMRequest.from_dict(socket_recv(connection))
                socket_send(connection, LMResponse.error_response(f"asked {request.prompt}").to_dict())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    address = listener.getsockname()
    assert socket_request(address, {"prompt": "x"})["error"] == "asked x"
    assert send_lm_request(address, LMRequest(prompt="y"), depth=3).error == "asked y"
    thread.join(5)
    listener.close()
    assert send_lm_request(address, LMRequest(prompt="y"), timeout=1).error == "Request failed: ConnectionRefusedError"
    assert time.monotonic()


def answering(*parts: bytes, every: float = 0.0) -> socket.socket:
    """A server that answers one connection with these parts, with a pause after each."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            socket_recv(connection)
            for part in parts:
                connection.sendall(part)
                time.sleep(every)

    threading.Thread(target=serve, daemon=True).start()
    return listener


def frame(value: object) -> bytes:
    body = json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body


@pytest.mark.parametrize(
    "value",
    [
        {"chat_completion": {"execution_time": 10**400}},
        {"chat_completion": {"execution_time": "soon"}},
        {"chat_completion": {"usage_summary": {"model_usage_summaries": {"m": {"total_calls": "many"}}}}},
        {"chat_completion": {"notices": [{}]}},
        {"chat_completion": []},
        {"chat_completions": 5},
        [],
    ],
    ids=range(7),
)
def test_no_answer_of_a_server_is_an_exception(value: object) -> None:
    with answering(frame(value)) as listener:
        error = send_lm_request(listener.getsockname(), LMRequest(prompt="q"), timeout=5).error
    assert (error or "").startswith("Request failed: ")


def test_a_server_that_answers_other_prompts_too_answers_none() -> None:
    one = RLMChatCompletion("m", "q", "r", UsageSummary(), 0.0).to_dict()
    with answering(frame({"chat_completions": [one] * 3})) as listener:
        responses = send_lm_request_batched(listener.getsockname(), ["a", "b"], timeout=5)
    assert [each.error for each in responses] == ["3 completions for 2 prompts"] * 2


def test_a_server_that_drips_is_not_waited_for_longer_than_the_timeout() -> None:
    with answering(struct.pack(">I", 40), *[b"x"] * 40, every=0.1) as listener:
        began = time.monotonic()
        error = send_lm_request(listener.getsockname(), LMRequest(prompt="q"), timeout=0.5).error
        assert time.monotonic() - began < 2
    assert error == "Request failed: TimeoutError"
