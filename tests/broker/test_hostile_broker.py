"""A broker replaced by hostile code: the host gets a typed error, in bounded time and memory, whatever it says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.broker import signed
from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import BadResponse, TransportLost
from rlm_secure.broker.transports.http1 import exchange
from rlm_secure.broker.transports.https import HttpsTransport
from rlm_secure.environments.remote.worker import verdict
from rlm_secure.errors import ProtocolViolation
from rlm_secure.policy import load_policy

FRAME = 100_000


@contextlib.contextmanager
def serving(behave: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """A server that reads a head and then misbehaves."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = connection.recv(65536)
                    if not data:
                        return
                    head += data
                behave(connection, head)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        listener.close()


def ask(behave: Callable[[socket.socket, bytes], None], *, key: SessionKey | None = None, seconds: float = 2.0):
    with serving(behave) as url:
        client = BrokerClient(HttpsTransport(url), key or SessionKey(), frame_bytes=FRAME)
        try:
            return client.health(seconds=seconds)
        finally:
            client.close()


def says(data: bytes) -> Callable[[socket.socket, bytes], None]:
    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)

    return behave


def answer(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent"]
)
def test_a_redirect_is_refused_and_its_target_never_asked(status) -> None:
    asked = []
    with serving(lambda connection, head: asked.append(head)) as metadata:
        with pytest.raises(ProtocolViolation, match="redirect"):
            ask(says(answer(b"", status, f"Location: {metadata}/latest/meta-data\r\n")))
    assert asked == []


@pytest.mark.parametrize(
    "data",
    [
        answer(b'{"status":"ok"}'),
        answer(b'{"status":"ok"}', headers=f"Rlm-Mac: {'0' * 64}\r\n"),
        answer(b'{"status":"ok"}', headers="Rlm-Mac: \xff\r\n"),
        answer(b'{"error":"no","rule":"stale-id"}', "409 Conflict"),
        answer(b'{"error":"no"}', "403 Forbidden"),
        answer(b"<html>", "404 Not Found"),
    ],
    ids=["unsigned", "zero", "latin", "conflict", "forbidden", "missing"],
)
def test_an_answer_without_our_signature_is_not_believed(data) -> None:
    with pytest.raises(ProtocolViolation, match="not signed"):
        ask(says(data))


def test_the_signature_of_another_answer_does_not_fit() -> None:
    key = SessionKey()
    body = b'{"status":"ok"}'
    digest = hashlib.sha256(body).hexdigest()
    for parts in (
        ("rlm1-answer", "2", "GET", "/health", "200", digest),
        ("rlm1-answer", "1", "GET", "/pending", "200", digest),
        ("rlm1-answer", "1", "GET", "/health", "404", digest),
        ("rlm1-request", "1", "GET", "/health", digest),
    ):
        with pytest.raises(ProtocolViolation, match="not signed"):
            ask(says(answer(body, headers=f"Rlm-Mac: {key._mac(*parts)}\r\n")), key=key)
    mac = key._mac("rlm1-answer", "1", "GET", "/health", "200", digest)
    assert ask(says(answer(body, headers=f"Rlm-Mac: {mac}\r\n")), key=key) is None


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_an_ingress_with_a_bad_moment_is_asked_again(status) -> None:
    key = SessionKey()
    heads = []

    def behave(connection: socket.socket, head: bytes) -> None:
        heads.append(head)
        if len(heads) < 3:
            connection.sendall(answer(b"busy", f"{status} Busy"))
            return
        body = b'{"status":"ok"}'
        mac = key._mac("rlm1-answer", "1", "GET", "/health", "200", hashlib.sha256(body).hexdigest())
        connection.sendall(answer(body, headers=f"Rlm-Mac: {mac}\r\n"))

    assert ask(behave, key=key) is None
    assert len(heads) == 3
    assert len(set(heads)) == 1  # the same request, under the same number


def test_an_ingress_that_stays_busy_is_given_up_in_time() -> None:
    started = time.monotonic()
    with pytest.raises(Lost, match="ingress answers 503"):
        ask(says(answer(b"", "503 Busy")), seconds=1.0)
    assert time.monotonic() - started < 2


def drip(data: bytes, pause: float) -> Callable[[socket.socket, bytes], None]:
    def behave(connection: socket.socket, head: bytes) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(pause)

    return behave


def endless(data: bytes, piece: bytes) -> Callable[[socket.socket, bytes], None]:
    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(data)
        while True:
            connection.sendall(piece)

    return behave


@pytest.mark.parametrize(
    "behave",
    [
        drip(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 10_000, 0.05),
        drip(answer(b"x" * 5000), 0.01),
        lambda connection, head: time.sleep(5),
        lambda connection, head: connection.close(),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"),
        says(b""),
    ],
    ids=["slow head", "slow body", "silence", "hang up", "cut", "nothing"],
)
def test_a_broker_that_is_slow_or_silent_is_given_up_in_time(behave) -> None:
    started = time.monotonic()
    with pytest.raises(Lost):
        ask(behave, seconds=1.0)
    assert time.monotonic() - started < 2.5


@pytest.mark.parametrize(
    "behave",
    [
        endless(b"", b"A" * 65536),
        endless(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n" * 1000),
        endless(b"HTTP/1.1 200 OK\r\nX: ", b"A" * 65536),
        endless(b"HTTP/1.1 200 OK\r\n\r\n", b"A" * 65536),
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4000\r\n" + b"A" * 0x4000 + b"\r\n"),
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"A" * 65536),
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"ffffffff\r\n"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
    ],
    ids=["line", "headers", "header", "body", "chunks", "chunk line", "chunk size", "length", "huge length"],
)
def test_a_broker_that_never_ends_is_cut_off(behave) -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    started = time.monotonic()
    with pytest.raises((ProtocolViolation, Lost)):
        ask(behave, seconds=2.0)
    assert time.monotonic() - started < 3.5
    assert process.memory_info().rss - before < 64 * 1024 * 1024


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nX: 1\r\n folded\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRlm-Mac: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_with_two_meanings_has_none(data) -> None:
    with pytest.raises(ProtocolViolation, match="broke the protocol"):
        ask(says(data))


@given(st.binary(max_size=400))
def test_any_bytes_are_an_answer_or_a_typed_error(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TransportLost, BadResponse):
            exchange(ours, "GET", "/", {}, b"", limit=1000, deadline=time.monotonic() + 5)


HEADS = st.lists(
    st.sampled_from(
        [
            b"Content-Length: 3",
            b"Transfer-Encoding: chunked",
            b"Connection: close",
            b"X:",
            b"3\r\nabc\r\n0",
            b"",
            b" x",
            b"abc",
        ]
    ),
    max_size=8,
)


@given(HEADS, st.binary(max_size=20))
def test_almost_an_answer_is_one_or_a_typed_error(lines: list[bytes], tail: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"", b""]) + tail)
        theirs.shutdown(socket.SHUT_WR)
        with contextlib.suppress(TransportLost, BadResponse):
            got, _ = exchange(ours, "GET", "/", {}, b"", limit=1000, deadline=time.monotonic() + 5)
            assert len(got.body) <= 1000


# -- signed by a supervisor that an attacker took over: the decoder is what is left -------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
ENTRY = st.fixed_dictionaries(
    {},
    optional={"id": JSON, "frame": JSON, "end": JSON, "request": JSON, "stopped": JSON, "type": JSON, "prompts": JSON},
)


@given(
    st.fixed_dictionaries({}, optional={"pending": JSON | st.lists(ENTRY, max_size=3), "worker": JSON, "refused": JSON})
)
def test_signed_nonsense_is_events_or_a_violation(message) -> None:
    with contextlib.suppress(ProtocolViolation):
        signed.events(message)


def signing(key: SessionKey, body: bytes) -> Callable[[socket.socket, bytes], None]:
    def behave(connection: socket.socket, head: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        number = head.split(b"Rlm-Id: ")[1].split(b"\r\n")[0].decode()
        digest = hashlib.sha256(body).hexdigest()
        mac = key._mac("rlm1-answer", number, method.decode(), target.decode(), "200", digest)
        connection.sendall(answer(body, headers=f"Rlm-Mac: {mac}\r\n"))

    return behave


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 1000 + b"1" + b"}" * 1000,
        b'{"status":1,"status":2}',
        b'{"x":NaN}',
        b'{"x":1e999}',
        b'{"x":' + b"9" * 5000 + b"}",
        b"\xff",
        b"null",
        b"",
        b'{"pending":[' + b"1," * 450_000 + b"1]}",
    ],
    ids=lambda value: repr(value)[:25],
)
def test_a_signed_answer_is_decoded_under_the_same_caps_as_a_frame(body) -> None:
    key = SessionKey()
    with serving(signing(key, body)) as url:
        client = BrokerClient(HttpsTransport(url), key, frame_bytes=2_000_000)
        with pytest.raises(ProtocolViolation):
            client.pending(wait=0)
        client.close()


@pytest.mark.parametrize(
    "message",
    [
        {"worker": "idle", "pending": [1]},
        {"worker": "idle", "pending": [{"id": 1, "frame": "{}"}]},
        {"worker": "idle", "pending": [{"id": "1" * 33, "frame": "{}"}]},
        {"worker": "idle", "pending": [{"id": "1"}]},
        {"worker": "idle", "pending": [{"id": "1", "request": {"type": "eval", "prompt": "p"}}]},
        {"worker": "idle", "pending": [{"id": "1", "request": {"type": "single", "prompt": 1}}]},
        {"worker": "busy", "pending": {}},
        {"worker": "free", "pending": []},
    ],
    ids=range(8),
)
def test_an_event_of_no_known_shape_is_a_violation(message) -> None:
    with pytest.raises(ProtocolViolation):
        signed.events(message)


@pytest.mark.parametrize(("cpu", "believed"), [(1, 1.0), (1e300, None), (-1, None), (None, None), ("1", None)])
def test_cpu_seconds_of_a_frame_are_believed_as_far_as_they_can_be_true(cpu: object, believed: float | None) -> None:
    found = signed.events({"worker": "idle", "pending": [{"id": "1", "frame": "{}", "cpu": cpu}]}).frame
    assert found is not None and found.cpu_seconds == believed


def test_the_end_of_a_worker_is_believed_as_far_as_it_can_be_true() -> None:
    def ended(**fields: object) -> signed.Ended:
        found = signed.events({"worker": "none", "pending": [{"id": "1", "end": fields}]}).ended
        assert found is not None
        return found

    assert ended(status=9, cpu=1, oom_kills=2, said="s" * 400) == signed.Ended(9, 1.0, 2, "s" * 297 + "...", None)
    for cpu in (10**4299, -1, "1", None, 1e300, [1]):
        assert ended(cpu=cpu, status=-1, oom_kills=True, said=1) == signed.Ended(None, 0.0, None, None, None)
    limits = load_policy("strict").limits
    for status in (*range(0x100), 0xFFFF, None):
        assert str(verdict(ended(status=status), limits))


def test_a_broker_that_loses_a_part_of_a_context_is_not_believed() -> None:
    key = SessionKey()
    with serving(signing(key, b'{"received":1}')) as url:
        client = BrokerClient(HttpsTransport(url, headers={"X-One": "1", "X-Two": "2"}), key, frame_bytes=FRAME)
        with pytest.raises(ProtocolViolation, match="lost a part of a context"):
            client.upload(0, memoryview(b"abc"), seconds=5)
        client.close()


def test_a_number_that_came_too_late_is_asked_again_under_a_new_one() -> None:
    key = SessionKey()
    late = json.dumps({"error": "stale", "rule": "stale-id"}).encode()
    numbers: list[str] = []

    def behave(connection: socket.socket, head: bytes) -> None:
        number = head.split(b"Rlm-Id: ")[1].split(b"\r\n")[0].decode()
        numbers.append(number)
        body, status = (late, 409) if len(numbers) == 1 else (b'{"refused":3}', 200)
        method, target, _ = (part.decode() for part in head.split(b" ", 2))
        mac = key._mac("rlm1-answer", number, method, target, str(status), hashlib.sha256(body).hexdigest())
        connection.sendall(answer(body, f"{status} Said", f"Rlm-Mac: {mac}\r\n"))

    heard: list[int] = []
    with serving(behave) as url:
        client = BrokerClient(HttpsTransport(url), key, frame_bytes=FRAME, refusals=heard.append)
        client.drop(7, seconds=5)
        assert (numbers, heard, client.refused) == (["1", "2"], [3], 3)
        client.close()


def test_an_unsigned_answer_of_a_sandbox_that_is_gone_is_its_end() -> None:
    with serving(says(answer(b"{}", "404 Not Found"))) as url:
        client = BrokerClient(HttpsTransport(url), SessionKey(), frame_bytes=FRAME, alive=lambda: False)
        with pytest.raises(Lost, match="the sandbox is gone"):
            client.health(seconds=5)
        client.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 16) + b"\r\n\r\n", "a line or head of more than 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 129 + b"\r\n", "more than 128 headers"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\n", "trailers"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz", "malformed chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "malformed chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 1100 + b"\r\n", "more than 1024 bytes"),
    ],
    ids=range(6),
)
def test_an_answer_beyond_its_bounds_is_garbled(data: bytes, said: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(BadResponse, match=said):
            exchange(ours, "GET", "/", {}, b"", limit=1000, deadline=time.monotonic() + 5)


def test_an_answer_in_chunks_is_put_together() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n")
        answered, keep = exchange(ours, "GET", "/", {}, b"", limit=1000, deadline=time.monotonic() + 5)
        assert (answered.status, answered.body, keep) == (200, b"abc", True)


def test_an_ingress_where_nobody_listens_is_cut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    transport = HttpsTransport(f"http://localhost:{port}")
    with pytest.raises(TransportLost, match="localhost cannot be reached"):
        transport.request("GET", "/", {}, b"", limit=10, deadline=time.monotonic() + 5)
    transport.close()
    with pytest.raises(TransportLost, match="the transport is closed"):
        transport.request("GET", "/", {}, b"", limit=10, deadline=time.monotonic() + 5)


def test_addresses_that_are_silent_share_the_time_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = [f"127.0.0.{each}" for each in range(2, 7)]
    with contextlib.ExitStack() as opened:
        port = 0
        for address in addresses:  # with a queue that is full: nobody else is answered
            listener = opened.enter_context(socket.socket())
            listener.bind((address, port))
            listener.listen(0)
            port = listener.getsockname()[1]
            for _ in range(3):
                waiting = opened.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex((address, port))
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]
        resolve = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *rest, **named: found if host == "localhost" else resolve(host, *rest, **named),
        )
        began = time.monotonic()
        with pytest.raises(TransportLost):
            HttpsTransport(f"https://localhost:{port}").request("GET", "/", {}, b"", limit=10, deadline=began + 1)
        assert time.monotonic() - began < 2


def test_the_first_address_that_answers_is_spoken_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda connection, _: connection.sendall(answer(b"{}"))) as url:
        port = int(url.rpartition(":")[2])
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in ("127.0.0.1", "127.0.0.2")]
        resolve = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *rest, **named: found if host == "localhost" else resolve(host, *rest, **named),
        )
        transport = HttpsTransport(f"http://localhost:{port}")
        answered = transport.request("GET", "/", {}, b"", limit=10, deadline=time.monotonic() + 5)
        assert answered.body == b"{}"
        transport.close()


def test_one_that_is_silent_in_the_handshake_has_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.create_connection

    def slowly(*arguments: object) -> socket.socket:
        time.sleep(0.8)
        return connect(*arguments)

    monkeypatch.setattr(socket, "create_connection", slowly)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        transport = HttpsTransport(f"https://127.0.0.1:{listener.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(TransportLost, match="TLS"):
            transport.request("GET", "/", {}, b"", limit=10, deadline=began + 1)
        assert time.monotonic() - began < 1.6


@pytest.mark.parametrize("host", ["a..b", "x" * 70 + ".example", ".x"])
def test_a_name_that_no_resolver_takes_is_cut(host: str) -> None:
    with pytest.raises(TransportLost, match="cannot be reached"):
        HttpsTransport(f"https://{host}").request("GET", "/", {}, b"", limit=10, deadline=time.monotonic() + 5)


def test_a_signed_refusal_names_its_rule() -> None:
    key = SessionKey()
    body = json.dumps({"error": "x" * 5000, "rule": "busy"}).encode()

    def behave(connection: socket.socket, head: bytes) -> None:
        mac = key._mac("rlm1-answer", "1", "GET", "/health", "409", hashlib.sha256(body).hexdigest())
        connection.sendall(answer(body, "409 Conflict", f"Rlm-Mac: {mac}\r\n"))

    with pytest.raises(Declined) as caught:
        ask(behave, key=key)
    assert (caught.value.status, caught.value.rule) == (409, "busy")
    assert len(str(caught.value)) < 400


# -- where the ingress is ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com", "http://10.0.0.1:80", "ftp://127.0.0.1", "https://user:pass@example.com", "https://",
        "https://example.com/path", "https://example.com/?q=1", "//example.com", "http://169.254.169.254",
        "https://ex\u00e4mple.com",
    ],
)  # fmt: skip
def test_an_ingress_is_https_or_on_this_machine(url) -> None:
    with pytest.raises(ValueError, match=r"ingress|encrypted"):
        HttpsTransport(url)


def test_a_header_of_a_provider_is_one_line() -> None:
    with pytest.raises(ValueError, match="one line"):
        HttpsTransport("https://example.com", headers={"X-Token": "a\r\nX: b"})


def test_a_context_that_verifies_nothing_is_refused() -> None:
    import ssl

    with pytest.raises(ValueError, match="verify"):
        HttpsTransport("https://example.com", context=ssl._create_unverified_context())


def test_no_proxy_is_asked(monkeypatch) -> None:
    asked = []
    with serving(lambda connection, head: asked.append(head)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy)
        key = SessionKey()
        with serving(signing(key, b'{"status":"ok"}')) as url:
            client = BrokerClient(HttpsTransport(url), key, frame_bytes=FRAME)
            assert client.health(seconds=2) is None
            client.close()
    assert asked == []
