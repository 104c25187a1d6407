"""Attacks on the supervisor's HTTP: each gets a status and a rule, in bounded time, and leaves it serving."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time

import psutil
import pytest

from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import TransportLost
from rlm_secure.broker.transports.https import HttpsTransport
from tests.broker.support import read_answer


@pytest.fixture(autouse=True)
def still_serving(raw):
    yield
    status, message = raw.ask("GET", "/health")
    assert (status, message["status"]) == (200, "ok")


# -- who speaks --------------------------------------------------------------------------------------------


def test_a_request_without_a_key_is_refused(raw) -> None:
    assert raw.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n") == (
        401, {"error": "Rlm-Id, Rlm-Sha256 and Rlm-Mac sign a request; one is missing or malformed", "rule": "unsigned"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "target", ["/health", "/pending?wait=1", "/session", "/nothing"], ids=["health", "pending", "session", "nothing"]
)
def test_a_wrong_key_is_refused_on_every_path_alike(raw, target) -> None:
    status, message = raw.ask("GET", target, key=SessionKey())
    assert (status, message["rule"]) == (401, "signature")


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.replace(b"GET /health", b"DELETE /session"),
        lambda head: head.replace(b"/health", b"/pending"),
        lambda head: re.sub(rb"(?<=Rlm-Id: )\d+", b"4711", head),
        lambda head: head.replace(b"Rlm-Mac: ", b"Rlm-Mac: 0")[:-5] + b"\r\n\r\n",
    ],
    ids=["method", "target", "id", "signature"],
)
def test_a_signature_covers_everything_that_decides(raw, change) -> None:
    status, message = raw.send(change(raw.head()))
    assert (status, message["rule"] in ("signature", "unsigned")) == (401, True)


def test_a_changed_body_is_not_what_was_signed(raw) -> None:
    body = json.dumps({"grace_seconds": 1.0}).encode()
    status, message = raw.send(raw.head("POST", "/interrupt", body) + body.replace(b"1", b"9"))
    assert (status, message["rule"]) == (400, "body-hash")


def test_the_body_of_an_unsigned_request_is_never_read(raw) -> None:
    head = raw.head("POST", "/respond", b"x", key=SessionKey(), length=200_000_000)
    started = time.monotonic()
    with raw.connect() as connection:
        connection.sendall(head)
        assert read_answer(connection)[0] == 401
    assert time.monotonic() - started < 1


# -- once ----------------------------------------------------------------------------------------------------


def test_a_replayed_cell_runs_once(raw) -> None:
    raw.session.execute("ran = 0", None)
    body = json.dumps({"op": "exec", "code": "ran += 1\nprint(ran)"}).encode()
    request = raw.head("POST", "/execute?wait=5", body) + body
    answers = [raw.send(request) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    frame = json.loads(answers[0][1]["pending"][0]["frame"])
    assert frame["stdout"] == "1\n"


def test_an_id_that_named_another_request_is_refused(raw) -> None:
    number = raw.next()
    raw.ask("GET", "/health", number=number)
    status, message = raw.ask("DELETE", "/context/9", number=number)
    assert (status, message["rule"]) == (409, "id-reused")


def test_a_lower_id_is_refused_and_was_not_applied(raw) -> None:
    lower, higher = raw.next(), raw.next()
    raw.ask("GET", "/health", number=higher)
    status, message = raw.ask("DELETE", "/session", number=lower)
    assert (status, message["rule"]) == (409, "stale-id")
    assert raw.ask("GET", "/health")[1]["worker"] == "idle"


@pytest.mark.parametrize("number", [2**53, 10**15 * 9 + 10**15 - 1])
def test_an_id_beyond_what_json_numbers_hold_is_refused(raw, number) -> None:
    assert raw.ask("GET", "/health", number=number)[1]["rule"] == "id"


def test_a_refusal_is_repeated_as_it_was(raw) -> None:
    request = raw.head("POST", "/respond", b'{"id":"nobody","response":{}}') + b'{"id":"nobody","response":{}}'
    assert raw.send(request) == raw.send(request) == (404, {"error": "Request not found", "rule": "unknown-id"})


# -- one meaning ---------------------------------------------------------------------------------------------

SMUGGLED = b"0\r\n\r\nDELETE /session?exit=1 HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("extra", "rule"),
    [
        ("Transfer-Encoding: chunked\r\n", "transfer-encoding"),
        ("Transfer-Encoding : chunked\r\n", "header"),
        ("Transfer-Encoding: identity\r\n", "transfer-encoding"),
        ("TRANSFER-ENCODING: chunked\r\n", "transfer-encoding"),
        ("Trailer: Rlm-Mac\r\n", "transfer-encoding"),
        ("Content-Length: 5\r\n", "duplicate-header"),
        ("content-length: 2\r\n", "duplicate-header"),
        ("Rlm-Id: 5\r\n", "duplicate-header"),
        ("X: 1\r\n folded\r\n", "header"),
        ("X: 1\nY: 2\r\n", "header"),
        ("X: 1\0\r\n", "header"),
        (": empty\r\n", "header"),
        ("no colon\r\n", "header"),
        ("".join(f"X-{number}: 1\r\n" for number in range(70)), "head-size"),
        (f"X: {'a' * 40_000}\r\n", "head-size"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_head_with_two_meanings_has_none(raw, extra, rule) -> None:
    status, message = raw.send(raw.head("POST", "/interrupt", b"{}", extra=extra) + b"{}" + SMUGGLED)
    assert (400 <= status < 500, message["rule"]) == (True, rule)


@pytest.mark.parametrize("length", ["+2", "-1", "0x2", "2, 2", "2 2", "00000000000000002", "\u00b2", ""])
def test_a_length_is_a_plain_number(raw, length) -> None:
    status, message = raw.send(raw.head("POST", "/interrupt", b"{}", length=length) + b"{}")
    assert (status in (400, 411), message["rule"]) == (True, "content-length")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b"GET  /health HTTP/1.1", "request-line"),
        (b"GET /health", "request-line"),
        (b"GET http://broker/health HTTP/1.1", "request-line"),
        (b"GET //health HTTP/1.1", "request-line"),
        (b"GET /%68ealth HTTP/1.1", "request-line"),
        (b"GET /context/../session HTTP/1.1", "request-line"),
        (b"GET /context/%2e%2e%2fsession HTTP/1.1", "request-line"),
        (b"GET /context/1/../../etc/passwd HTTP/1.1", "request-line"),
        (b"GET /health#x HTTP/1.1", "request-line"),
        (b"GET /health HTTP/1.0", "http-version"),
        (b"GET /health HTTP/2.0", "http-version"),
        (b"PRI * HTTP/2.0", "http-version"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "request-line"),
        (b"get /health HTTP/1.1", "request-line"),
        (b"OPTIONSX /health HTTP/1.1", "request-line"),
    ],
    ids=repr,
)
def test_a_request_line_is_plain_or_refused(raw, line, rule) -> None:
    status, message = raw.send(line + b"\r\nHost: x\r\n\r\n")
    assert (400 <= status <= 505, message["rule"]) == (True, rule)


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/nothing", 404), ("GET", "/", 404), ("PATCH", "/health", 405), ("POST", "/health", 405),
        ("PUT", "/context", 404), ("PUT", "/session/1", 405), ("DELETE", "/session/1", 404),
        ("GET", "/context/1", 405), ("PUT", "/context/12345", 400),
    ],
)  # fmt: skip
def test_other_routes_do_not_exist(raw, method, target, status) -> None:
    assert raw.ask(method, target)[0] == status


@pytest.mark.parametrize(
    "query", ["?wait", "?=1", "?wait=1&wait=2", "?wait=-1", "?wait=nan", "?wait=1e9", "?wait=.", "?&"]
)
def test_a_query_is_pairs_of_plain_values(raw, query) -> None:
    assert raw.ask("GET", f"/pending{query}")[1]["rule"] == "query"


# -- bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (b"", "json"), (b"[]", "json"), (b"null", "json"), (b'{"op":"exec","op":"exec"}', "json"),
        (b'{"op":NaN}', "json"), (b'{"op":"exec"', "json"), (b"\xff\xfe", "json"), (b"[" * 100_000, "json"),
        (b'{"a":' * 50_000, "json"), (b'{"op":' + b"9" * 5000 + b"}", "json"), (b'{"op":1}', "fields"),
        (b"{}", "fields"), (b'{"op":null}', "fields"), (b'{"op":"__class__"}', "fields"), (b'{"op":["exec"]}', "fields"),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_a_body_is_one_json_object_of_the_right_shape(raw, body, rule) -> None:
    status, message = raw.ask("POST", "/execute", body)
    assert (status in (400, 422), message["rule"]) == (True, rule)


@pytest.mark.parametrize(
    ("route", "size"),
    [("/interrupt", 65_537), ("/session", 65_537), ("/execute", 2**28 + 1)],
)
def test_a_body_over_its_limit_is_refused_before_it_comes(raw, route, size) -> None:
    status, message = raw.send(raw.head("POST", route, b"", length=size))
    assert (status, message["rule"]) == (413, "body-size")


def test_a_get_has_no_body(raw) -> None:
    assert raw.ask("GET", "/health", b"x", length=1)[0] == 413


@pytest.mark.parametrize(
    ("target", "body", "status", "rule"),
    [
        ("/context/1?offset=0&total=99999999999", b"x", 413, "context-size"),
        ("/context/1?offset=5&total=10", b"x", 409, "context-gap"),
        ("/context/2?offset=0&total=1", b"xx", 409, "context-total"),
        ("/context/3?offset=0&total=1", b"x", 422, "context-hash"),
        ("/context/3?offset=0&total=1&sha256=" + "0" * 64, b"x", 422, "context-hash"),
        ("/context/3?offset=-1&total=1", b"x", 400, "query"),
        ("/context/3?total=1", b"x", 400, "query"),
    ],
)
def test_chunks_of_a_context_are_checked(raw, target, body, status, rule) -> None:
    answer, message = raw.ask("PUT", target, body)
    assert (answer, message["rule"]) == (status, rule)


def test_an_incomplete_context_never_reaches_a_worker(raw) -> None:
    raw.ask("PUT", "/context/7?offset=0&total=10", b"half.")
    body = b'{"op":"context","name":"x","kind":"ascii","length":10}'
    assert raw.ask("POST", "/execute?upload=7", body)[1]["rule"] == "context-incomplete"
    assert raw.ask("POST", "/execute?upload=8888", body)[1]["rule"] == "context-incomplete"


# -- time and numbers ----------------------------------------------------------------------------------------


def test_a_slow_head_is_dropped(raw) -> None:
    started = time.monotonic()
    with raw.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX: ")
        assert read_answer(connection)[0] == 408
    assert 4 < time.monotonic() - started < 15


def test_a_slow_body_is_dropped(raw) -> None:
    body = b'{"grace_seconds": 1.0}'
    started = time.monotonic()
    with raw.connect() as connection:
        connection.sendall(raw.head("POST", "/interrupt", body) + body[:3])
        assert read_answer(connection)[0] == 408
    assert 4 < time.monotonic() - started < 15


def test_many_silent_connections_do_not_keep_the_host_out(raw) -> None:
    crowd = [raw.connect() for _ in range(60)]
    try:
        assert raw.ask("GET", "/health")[0] == 200
    finally:
        for each in crowd:
            each.close()


def test_who_has_signed_a_request_makes_room_for_nobody(raw) -> None:
    body = json.dumps({"grace_seconds": 1.0}).encode()
    with raw.connect() as connection:
        connection.sendall(raw.head("POST", "/interrupt", body) + body[:5])
        time.sleep(0.1)
        crowd = [raw.connect() for _ in range(40)]
        try:
            for each in crowd:
                with contextlib.suppress(OSError):  # most are hung up on by now
                    each.sendall(b"GET /health HTTP/1.1\r\nX: ")
            time.sleep(0.1)
            connection.sendall(body[5:])
            assert read_answer(connection)[0] == 200
        finally:
            for each in crowd:
                each.close()


def test_a_flood_of_heads_and_bodies_takes_no_memory(raw) -> None:
    process = psutil.Process(raw.session.lease.process.pid)
    before = process.memory_info().rss
    for _ in range(20):
        with raw.connect() as connection, pytest.MonkeyPatch.context():
            try:
                connection.sendall(b"A" * 4_000_000)
            except OSError:
                pass
    assert process.memory_info().rss - before < 20 * 1024 * 1024


def test_a_second_request_behind_one_that_waits_closes_the_connection(raw) -> None:
    client = raw.session.lease.client
    body = json.dumps({"op": "exec", "code": "sum(range(30_000_000))"}).encode()
    with raw.connect() as connection:
        connection.sendall(raw.head("POST", "/execute?wait=10", body) + body)
        time.sleep(0.1)
        connection.sendall(raw.head("GET", "/health"))
        assert connection.recv(1) == b""
    events = client.pending(wait=10)
    assert events.frame is not None


def test_a_reset_connection_harms_nobody(raw) -> None:
    for _ in range(50):
        connection = raw.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.sendall(raw.head()[:50])
        connection.close()


def test_everything_that_was_refused_is_counted_and_reaches_the_host(raw) -> None:
    raw.send(b"GET /health HTTP/1.1\r\n\r\n")
    refused = raw.ask("GET", "/health")[1]["refused"]
    assert refused["unsigned"] >= 1
    raw.session.execute("1", None)
    assert raw.session.lease.refusals[-1] >= refused["unsigned"]


def test_it_listens_where_it_was_told_and_nowhere_else(raw) -> None:
    # Not by its descriptors: the supervisor shows them to nobody.
    port = f"{raw.lease.address[1]:04X}"
    sockets = [line.split()[1:4] for line in open("/proc/net/tcp") if line.split()[1].endswith(f":{port}")]
    assert [local for local, _, state in sockets if state == "0A"] == [f"0100007F:{port}"]
    assert not [line for line in open("/proc/net/tcp6") if f":{port} " in line]


def test_a_transport_that_is_closed_says_so(raw) -> None:
    closed = HttpsTransport(f"http://127.0.0.1:{raw.lease.address[1]}")
    closed.close()
    with pytest.raises(TransportLost):
        closed.request("GET", "/health", {}, b"", limit=10, deadline=time.monotonic() + 1)
