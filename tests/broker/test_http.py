"""The supervisor's HTTP parser, alone: any bytes, in any pieces, are requests or one refusal."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import TransportLost
from rlm_secure.broker.transports.http1 import exchange
from rlm_secure.guest.supervisor import http, supervisor

KEY = SessionKey(b"k" * 32)


def limit(method: str, path: str) -> int:
    return supervisor._body_limit(method, path)


def head(method: str, target: str, body: bytes, number: int = 1, extra: str = "") -> bytes:
    signed = KEY.headers(number, method, target, hashlib.sha256(body).hexdigest())
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in signed.items())]
    lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n" + extra + "\r\n").encode()


def read(pieces: list[bytes]) -> Iterator[tuple[str, str, bytes] | str]:
    """What comes out of a reader that gets `pieces` one after the other."""
    reader = http.Reader(bytes.fromhex(KEY.hex()), limit)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for piece in pieces:
            theirs.sendall(piece)
            left = len(piece)
            while left:
                left -= reader.receive(ours)
                try:
                    while (request := reader.next()) is not None:
                        yield request.method, request.target, bytes(request.body)
                except http.HttpError as bad:
                    yield bad.rule
                    return


REQUESTS = [
    ("GET", "/pending?wait=1.5", b""),
    ("POST", "/execute?wait=0&cpu=1", b'{"op":"exec","code":"1"}'),
    ("PUT", "/context/12?offset=0&total=70000", b"\x00\r\n\r\n" * 14_000),
    ("DELETE", "/session?exit=0", b""),
]
STREAM = b"".join(head(*request, number) + request[2] for number, request in enumerate(REQUESTS, 1))


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_requests_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    at = [0, *sorted(set(cuts)), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in zip(at, at[1:], strict=False) if end > start]
    assert list(read(pieces)) == REQUESTS


@given(st.binary(max_size=300))
def test_bytes_without_a_signature_are_never_a_request(data: bytes) -> None:
    assert all(isinstance(each, str) for each in read([data + b"\r\n\r\n"]))


@given(st.integers(0, len(STREAM) - 1), st.binary(min_size=1, max_size=3))
def test_a_changed_byte_is_a_refusal_or_changes_nothing_that_counts(at: int, instead: bytes) -> None:
    changed = STREAM[:at] + instead + STREAM[at + len(instead) :]
    for number, each in enumerate(read([changed])):
        if isinstance(each, str):
            return
        assert each == REQUESTS[number]


@given(st.text(alphabet="abcXYZ:;, \t\r\n\0-", max_size=60))
def test_a_header_that_is_added_never_changes_a_request(extra: str) -> None:
    for each in read([head("POST", "/interrupt", b"{}", extra=extra) + b"{}"]):
        if isinstance(each, str):
            return
        assert each == ("POST", "/interrupt", b"{}")


def test_the_room_for_a_large_body_is_not_kept() -> None:
    body = b"x" * (http._KEPT_BODY + 1)
    reader = http.Reader(bytes.fromhex(KEY.hex()), lambda *_: 1 << 30)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for number, data in enumerate((b"y" * 1000, body), 1):
            sender = threading.Thread(target=theirs.sendall, args=(head("POST", "/execute", data, number) + data,))
            sender.start()
            while (request := reader.next()) is None:
                reader.receive(ours)
            sender.join()
            assert request.body == data
            assert len(reader._body) == (1000 if number == 1 else 0)


def test_an_answer_cannot_be_taken_for_another() -> None:
    key = bytes.fromhex(KEY.hex())
    macs = {
        http.answer_mac(key, number, method, target, status, digest * 64)
        for number in ("1", "2")
        for method in ("GET", "PUT")
        for target in ("/a", "/b")
        for status in (200, 404)
        for digest in "0f"
    } | {http.request_mac(key, "1", "GET", "/a", "0" * 64)}
    assert len(macs) == 33


def test_host_and_guest_sign_alike() -> None:
    key = bytes.fromhex(KEY.hex())
    digest = hashlib.sha256(b"body").hexdigest()
    assert KEY.headers(7, "POST", "/x", digest)["Rlm-Mac"] == http.request_mac(key, "7", "POST", "/x", digest)
    mac = http.answer_mac(key, "7", "POST", "/x", 200, digest)
    assert KEY.verifies(mac, 7, "POST", "/x", 200, b"body")
    assert not KEY.verifies(mac, 8, "POST", "/x", 200, b"body")


def test_a_key_is_fresh_and_not_shown() -> None:
    one, other = SessionKey(), SessionKey()
    assert one.hex() != other.hex()
    assert len(one.hex()) == 64
    assert one.hex() not in repr(one)


@pytest.mark.parametrize("body", [b"", b"x" * 70_000])
def test_a_request_that_cannot_be_sent_is_cut(body: bytes) -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(TransportLost, match="the request could not be sent"):
        exchange(ours, "POST", "/x", {}, body, limit=10, deadline=time.monotonic() + 5)


@pytest.mark.parametrize("first", [b"\x16", b"get", b"\xff", b"GET\0"])
def test_what_cannot_become_a_request_is_refused_at_its_first_bytes(first: bytes) -> None:
    assert list(read([first])) == ["request-line"]
