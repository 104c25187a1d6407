"""HTTP/1.1 over one connected socket, as a client that trusts nothing: bounded bytes, one deadline.

Guards: the bytes of an answer: bounded, and of one meaning
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from rlm_secure.broker.transports import Answer, Cut, Garbled, left

MAX_HEAD = 64 * 1024
MAX_HEADERS = 128
_CHUNK_LINE = 1024

_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})(?:[ \t]*;[^\r\n]*)?")


class Connection(Protocol):
    """What an exchange needs of a socket, with a socket's exceptions."""

    def settimeout(self, seconds: float, /) -> None: ...
    def send(self, data: bytes | memoryview, /) -> int: ...
    def recv(self, size: int, /) -> bytes: ...


def exchange(
    connection: Connection,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | memoryview,
    *,
    limit: int,
    deadline: float,
) -> tuple[Answer, bool]:
    """One request and its answer. The bool says whether the connection can carry another one."""
    reader = _Reader(connection, deadline)
    head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if method in ("POST", "PUT"):
        head.append(f"Content-Length: {len(body)}")
    _send(connection, "\r\n".join([*head, "", ""]).encode("ascii"), body, deadline)
    status, received = _head(reader)
    content = _body(reader, received, limit)
    keep = received.get("connection", "").lower() != "close" and not reader.closed and not reader.buffer
    return Answer(status, received, content), keep


def _send(connection: Connection, head: bytes, body: bytes | memoryview, deadline: float) -> None:
    try:
        for part in (head + bytes(body),) if len(body) < 65536 else (head, body):
            view = memoryview(part)
            while view:
                # One deadline for the whole: a peer that reads a byte a second must not keep us.
                connection.settimeout(left(deadline))
                view = view[connection.send(view[: 1 << 20]) :]
    except OSError as error:
        raise Cut(f"the request could not be sent: {error}") from None


class _Reader:
    """Bytes from the peer, as many as asked for, before the deadline."""

    def __init__(self, connection: Connection, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self.buffer = bytearray()
        self.closed = False

    def more(self, wanted: int = 65536) -> bool:
        """Read once; False at the end of the stream."""
        try:
            self._connection.settimeout(left(self._deadline))
            chunk = self._connection.recv(min(max(wanted, 4096), 1 << 20))
        except OSError as error:
            raise Cut(f"the answer was cut off: {error}") from None
        self.closed = self.closed or not chunk
        self.buffer += chunk
        return bool(chunk)

    def until(self, end: bytes, limit: int) -> bytes:
        """Everything before `end`, which is dropped."""
        searched = 0
        while (at := self.buffer.find(end, max(searched - len(end), 0))) < 0:
            searched = len(self.buffer)
            if searched > limit:
                raise Garbled(f"a line or head of more than {limit} bytes")
            if not self.more():
                raise Cut("the connection ended before an answer")
        if at > limit:
            raise Garbled(f"a line or head of more than {limit} bytes")
        taken = bytes(self.buffer[:at])
        del self.buffer[: at + len(end)]
        return taken

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes."""
        while len(self.buffer) < size:
            if not self.more(size - len(self.buffer)):
                raise Cut("the connection ended within an answer")
        with memoryview(self.buffer) as view:
            taken = bytes(view[:size])
        del self.buffer[:size]
        return taken


def _head(reader: _Reader) -> tuple[int, dict[str, str]]:
    lines = reader.until(b"\r\n\r\n", MAX_HEAD).split(b"\r\n")
    line = _STATUS_LINE.fullmatch(lines[0])
    if line is None:
        raise Garbled("what came is not an HTTP/1.1 answer")
    if len(lines) > MAX_HEADERS + 1:
        raise Garbled(f"an answer with more than {MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for each in lines[1:]:
        match = _HEADER.fullmatch(each)
        if match is None:
            raise Garbled("an answer with a malformed header")
        name = match[1].decode("ascii").lower()
        if name in headers and name in ("content-length", "transfer-encoding", "rlm-mac", "rlm-id"):
            raise Garbled(f"an answer with two {name} headers")
        headers[name] = match[2].decode("latin-1").strip()
    status = int(line[1])
    if status < 200:
        raise Garbled(f"an interim answer ({status}) that nobody asked for")
    return status, headers


def _body(reader: _Reader, headers: Mapping[str, str], limit: int) -> bytes:
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None or coding.lower() != "chunked":
            raise Garbled("an answer whose length has two meanings")
        return _chunked(reader, limit)
    if length is not None:
        if not re.fullmatch(r"[0-9]{1,15}", length) or int(length) > limit:
            raise Garbled(f"an answer of {length[:20]} bytes, limit {limit}")
        return reader.exactly(int(length))
    while len(reader.buffer) <= limit and reader.more():
        pass
    if len(reader.buffer) > limit:
        raise Garbled(f"an answer of more than {limit} bytes")
    return reader.exactly(len(reader.buffer))


def _chunked(reader: _Reader, limit: int) -> bytes:
    body = bytearray()
    while True:
        line = _CHUNK.fullmatch(reader.until(b"\r\n", _CHUNK_LINE))
        if line is None:
            raise Garbled("an answer with a malformed chunk")
        size = int(line[1], 16)
        if len(body) + size > limit:
            raise Garbled(f"an answer of more than {limit} bytes")
        if size == 0:
            if reader.until(b"\r\n", _CHUNK_LINE):
                raise Garbled("an answer with trailers")
            return bytes(body)
        body += reader.exactly(size)
        if reader.exactly(2) != b"\r\n":
            raise Garbled("an answer with a malformed chunk")
