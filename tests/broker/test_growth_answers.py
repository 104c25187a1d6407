"""What a sandbox sends costs the host in proportion to its size: twice the bytes, at most 2.3 times the processor time.

Each parser is given its own worst input, in one piece and byte by byte, before any signature could be checked.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from rlm_secure.broker.transports import BadResponse, Response
from rlm_secure.broker.transports.http1 import MAX_HEAD, exchange
from tests.growth.cost import assert_linear, seconds

OK = b"HTTP/1.1 200 OK\r\n"


class Fed:
    """A connection that says `data`, at most `piece` bytes at a time, whatever is sent to it."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._data = data
        self._piece = piece
        self._at = 0

    def settimeout(self, seconds: float, /) -> None:
        pass

    def send(self, data: bytes | memoryview, /) -> int:
        return len(data)

    def recv(self, size: int, /) -> bytes:
        taken = self._data[self._at : self._at + min(size, self._piece)]
        self._at += len(taken)
        return taken


def read(data: bytes, piece: int = 65536, limit: int = 4_000_000) -> Response:
    return exchange(Fed(data, piece), "GET", "/", {}, b"", limit=limit, deadline=time.monotonic() + 500)[0]


def rejected(data: bytes, piece: int = 65536) -> None:
    with pytest.raises(BadResponse):
        read(data, piece)


def byte_by_byte(data: bytes) -> None:
    read(data, 1)


#: An answer of n parts, what it must come to, and the smaller n. Making it is not measured.
ANSWERS: dict[str, tuple[Callable[[int], bytes], Callable[[bytes], object], int]] = {
    "spaces": (lambda n: OK + b"X:" + b" " * n + b"\r\nContent-Length: 0\r\n\r\n", read, 16_000),
    "spaces and a control character": (lambda n: OK + b"X:" + b" \t" * n + b"\0\r\n\r\n", rejected, 16_000),
    "a name": (lambda n: OK + b"X" * n + b"\r\n\r\n", rejected, 30_000),
    "a reason": (lambda n: OK[:-2] + b" " * n + b"\r\r\n\r\n", rejected, 30_000),
    "headers": (lambda n: OK + b"\r\n".join([b"X"] * n) + b"\r\n\r\n", rejected, 10_000),
    "no end": (lambda n: OK + b"X" + b"\r\n\r" * n + b"X" * MAX_HEAD, rejected, 10_000),
    "a length": (lambda n: OK + b"Content-Length: " + b"1" * n + b"\r\n\r\n", rejected, 30_000),
    "a head byte by byte": (lambda n: OK + b"X: " + b"x" * n + b"\r\nContent-Length: 0\r\n\r\n", byte_by_byte, 8_000),
    "a body byte by byte": (lambda n: OK + b"Content-Length: %d\r\n\r\n" % n + b"x" * n, byte_by_byte, 10_000),
    "a body without a length": (lambda n: OK + b"\r\n" + b"x" * n, lambda data: read(data, 100), 250_000),
    "a body": (lambda n: OK + b"Content-Length: %d\r\n\r\n" % n + b"x" * n, lambda data: read(data, 1000), 250_000),
    "chunks": (
        lambda n: OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1 \t;x\r\nx\r\n" * n + b"0\r\n\r\n", read, 2_000,
    ),
    "a chunk line": (
        lambda n: OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" + b" " * n + b"x\r\n", rejected, 500,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "run", "size"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_costs_in_proportion_to_its_size(make, run, size) -> None:
    assert_linear(make, run, begin=size, fixed=True)  # twice as much is within every limit


def test_the_head_with_most_spaces_costs_no_more_than_a_full_one() -> None:
    spaces, full = OK + b"X:" + b" " * 65_000, OK + b"X: " + b"x" * 65_000
    best = [seconds(rejected, head + b"\0\r\n\r\n", 5) for head in (spaces, full)]
    assert best[0] <= 20 * best[1]


def test_chunks_are_counted() -> None:
    chunks = OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 6_000 + b"0\r\n\r\n"
    assert len(read(chunks).body) == 6_000
    with pytest.raises(BadResponse, match="more than 5072 chunks"):
        read(chunks, limit=1_000_000)


@pytest.mark.parametrize(
    "line", [b"X: a\0b", b"X: a\nb", b"X: a\rb", b"X: a\x1b[0m", b"X: \x7f", b": x", b"X", b"X :y", b"X\xff: y"]
)
def test_a_header_is_one_line_of_text(line) -> None:
    with pytest.raises(BadResponse):
        read(OK + b"A: b\r\n" + line + b"\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("line", [b"", b" 1", b"1 1", b"0x1", b"+1", b"1_0", b"123456789", b"1;\x00", b"\xb2"])
def test_a_chunk_line_is_a_number_and_perhaps_a_remark(line) -> None:
    with pytest.raises(BadResponse, match="malformed chunk"):
        read(OK + b"Transfer-Encoding: chunked\r\n\r\n" + line + b"\r\nx\r\n0\r\n\r\n", limit=100)


def test_white_space_around_a_value_and_a_chunk_size_is_not_part_of_it() -> None:
    got = read(OK + b"X: \t a \xe9 \t\r\nTransfer-Encoding:chunked\r\n\r\n1 \t; remark\r\nx\r\n0;\r\n\r\n")
    assert (got.headers["x"], got.body) == ("a \xe9", b"x")
