"""HTTP/1.1 over one connected socket, for an untrusted server: limited bytes and steps, one deadline.

All of this runs before any signature is checked, so each byte is examined a fixed number of times: lines are split at
their ends and at their first colon, and bytes are checked against sets, without patterns that could backtrack.
`guest/supervisor/http.py` reads requests in the same way.

Guards: the bytes of an answer: limited and unambiguous
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Protocol, cast

from rlm_secure.broker.transports import BadResponse, Body, Closed, Response, Stored, TransportLost, left

#: The slowest rate that is waited for, in bytes of a request or an answer a second.
SLOWEST_RATE: Final = 32 * 1024
MAX_HEAD = 64 * 1024
MAX_HEADERS = 128
_CHUNK_LINE = 1024
#: Most chunks of one answer: _MIN_CHUNKS, and one per _CHUNK_SIZE bytes of its limit. Each costs steps of its own.
_MIN_CHUNKS = 4096
_CHUNK_SIZE = 1024

_STATUSES = frozenset(str(status).encode("ascii") for status in range(100, 600))
#: Bytes allowed in a header's name, in a line, in a length, and in a chunk's size.
_TOKEN = b"!#$%&'*+.^_`|~-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TEXT = b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
#: Headers that affect parsing or authentication: a duplicate is an attack or a broken proxy.
_SINGLE = frozenset({"content-length", "transfer-encoding", "rlm-mac", "rlm-id"})


class Connection(Protocol):
    """The part of a socket that an exchange needs, with a socket's exceptions."""

    def settimeout(self, seconds: float, /) -> None:
        """Limit every wait to `seconds`."""

    def send(self, data: bytes | memoryview, /) -> int:
        """Send a part of `data`, and return its size in bytes."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Receive up to `size` bytes; none at the end."""
        ...


class Fetching(Connection, Protocol):
    """A connection that can have the sandbox send bytes that are there already."""

    def fetch(self, head: bytes, stored: Stored, /) -> None:
        """Send `head`, and have `stored` sent to the supervisor after it. Raises OSError as `send` does."""


class Pace:
    """How long an exchange may take: `patience` seconds without progress, and in all `patience` seconds more than its
    bytes take at the slowest rate, but never beyond `deadline`.

    `acknowledged` counts bytes of the request that are known to have arrived: a peer that acknowledges one now and then
    is progress, and gains no time beyond the slowest rate.
    """

    def __init__(self, deadline: float, patience: float, acknowledged: Callable[[], int]) -> None:
        self._deadline = deadline
        self._patience = patience
        self._acknowledged = acknowledged
        self._began = self._moved_at = time.monotonic()
        self._moved = 0
        self._seen = acknowledged()

    def moved(self, size: int) -> None:
        """Count bytes that were sent or received."""
        self._moved += size
        self._moved_at = time.monotonic()

    def credit(self, size: int) -> None:
        """Give the time that `size` bytes take, which were sent before."""
        self._moved += size

    def left(self) -> float:
        """Seconds for the next step. Raises TransportLost when there are none."""
        if (seen := self._acknowledged()) != self._seen:
            self._seen, self._moved_at = seen, time.monotonic()
        longest = self._began + self._moved / SLOWEST_RATE
        return left(min(self._deadline, min(longest, self._moved_at) + self._patience))


def exchange(
    connection: Connection,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: Body,
    *,
    limit: int,
    deadline: float,
    patience: float = math.inf,
    acknowledged: Callable[[], int] = lambda: 0,
) -> tuple[Response, bool]:
    """Send one request and read its answer. The bool says whether the connection can be used again.

    See Pace for `deadline`, `patience` and `acknowledged`.
    """
    one = Exchanges(connection, deadline=deadline, patience=patience, acknowledged=acknowledged)
    one.send(method, target, headers, body)
    answer = one.answer(limit)
    return answer, one.reusable


class Exchanges:
    """Requests over one connection, and their answers, which come in the same order: several may be on their way.

    See Pace for `deadline`, `patience` and `acknowledged`: a request has its own pace, with the time that the bytes of
    those before it may take that are not answered.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        deadline: float,
        patience: float = math.inf,
        acknowledged: Callable[[], int] = lambda: 0,
    ) -> None:
        self._connection = connection
        self._limits = deadline, patience, acknowledged
        self._reader = _Reader(connection, Pace(*self._limits))
        self._unanswered: deque[int] = deque()
        self._kept = False

    @property
    def reusable(self) -> bool:
        """Whether all requests were answered, and the connection can carry more."""
        return self._kept and not self._unanswered

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> None:
        """Send a request. Raises TransportLost."""
        head = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if method in ("POST", "PUT"):
            head.append(f"Content-Length: {len(body)}")
        self._reader.pace = pace = Pace(*self._limits)
        pace.credit(sum(self._unanswered))
        self._kept = False
        self._unanswered.append(len(body))
        _send(self._connection, "\r\n".join([*head, "", ""]).encode("ascii"), body, pace)

    def answer(self, limit: int) -> Response:
        """The answer to the first request that has none yet, of at most `limit` bytes. Raises as Transport.request."""
        reader = self._reader
        status, received = _head(reader)
        content = _body(reader, received, limit)
        self._unanswered.popleft()
        ends = received.get("connection", "").lower() == "close" or reader.closed
        self._kept = not ends and not reader.buffer
        return Response(status, received, content)


def _send(connection: Connection, head: bytes, body: Body, pace: Pace) -> None:
    try:
        if isinstance(body, Stored):
            connection.settimeout(pace.left())
            cast("Fetching", connection).fetch(head, body)
            pace.moved(len(body))
            return
        for part in (head + bytes(body),) if len(body) < 65536 else (head, body):
            view = memoryview(part)
            while view:
                # One pace for the whole body: a peer that reads one byte per second must not block the host.
                connection.settimeout(pace.left())
                try:
                    sent = connection.send(view[: 1 << 20])
                except TimeoutError:
                    continue  # unless something was acknowledged in the meantime, no time is left
                pace.moved(sent)
                view = view[sent:]
    except OSError as error:
        raise TransportLost(f"the request could not be sent: {error}") from None


class _Reader:
    """Reads as many bytes from the peer as requested, at the exchange's pace."""

    def __init__(self, connection: Connection, pace: Pace) -> None:
        self._connection = connection
        self.pace = pace
        self.buffer = bytearray()
        self.closed = False

    def more(self, wanted: int = 65536) -> bool:
        """Read once; False at the end of the stream."""
        chunk: bytes | None = None
        try:
            while chunk is None:
                self._connection.settimeout(self.pace.left())
                with contextlib.suppress(TimeoutError):  # see _send
                    chunk = self._connection.recv(min(max(wanted, 4096), 1 << 20))
        except OSError as error:
            raise TransportLost(f"the answer was cut off: {error}") from None
        self.pace.moved(len(chunk))
        self.closed = self.closed or not chunk
        self.buffer += chunk
        return bool(chunk)

    def until(self, end: bytes, limit: int) -> bytes:
        """At most `limit` bytes before `end`, which is dropped."""
        searched = 0
        while (at := self.buffer.find(end, max(searched - len(end) + 1, 0), limit + len(end))) < 0:
            searched = len(self.buffer)
            if searched >= limit + len(end):
                raise BadResponse(f"a line or head of more than {limit} bytes")
            if not self.more():
                raise Closed("the connection ended before an answer")
        taken = bytes(self.buffer[:at])
        del self.buffer[: at + len(end)]
        return taken

    def exactly(self, size: int) -> bytes:
        """The next `size` bytes."""
        while len(self.buffer) < size:
            if not self.more(size - len(self.buffer)):
                raise TransportLost("the connection ended within an answer")
        with memoryview(self.buffer) as view:
            taken = bytes(view[:size])
        del self.buffer[:size]
        return taken


def _head(reader: _Reader) -> tuple[int, dict[str, str]]:
    head = reader.until(b"\r\n\r\n", MAX_HEAD)
    if head.count(b"\r\n") > MAX_HEADERS:
        raise BadResponse(f"an answer with more than {MAX_HEADERS} headers")
    lines = head.split(b"\r\n")
    status = _status(lines[0])
    headers = _headers(lines[1:])
    if status < 200:
        raise BadResponse(f"an interim answer ({status}) that nobody asked for")
    return status, headers


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    status, _, _ = rest.partition(b" ")
    if version not in (b"HTTP/1.1", b"HTTP/1.0") or status not in _STATUSES or not _made_of(line, _TEXT):
        raise BadResponse("what came is not an HTTP/1.1 answer")
    return int(status)


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        token, colon, value = line.partition(b":")
        if not (colon and token and _made_of(token, _TOKEN) and _made_of(value, _TEXT)):
            raise BadResponse("an answer with a malformed header")
        name = token.decode("ascii").lower()
        if name in _SINGLE and name in headers:
            raise BadResponse(f"an answer with two {name} headers")
        headers[name] = value.strip(b" \t").decode("latin-1")
    return headers


def _made_of(data: bytes, allowed: bytes) -> bool:
    """Whether each byte of `data` is one of `allowed`."""
    return not data.translate(None, allowed)


def _body(reader: _Reader, headers: Mapping[str, str], limit: int) -> bytes:
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None or coding.lower() != "chunked":
            raise BadResponse("an answer whose length has two meanings")
        return _chunked(reader, limit)
    if length is not None:
        digits = length.encode("latin-1")
        if not (1 <= len(digits) <= 15 and _made_of(digits, _DIGITS)) or int(digits) > limit:
            raise BadResponse(f"an answer of {length[:20]!r} bytes, limit {limit}")
        return reader.exactly(int(digits))
    while len(reader.buffer) <= limit and reader.more():
        pass
    if len(reader.buffer) > limit:
        raise BadResponse(f"an answer of more than {limit} bytes")
    return reader.exactly(len(reader.buffer))


def _chunked(reader: _Reader, limit: int) -> bytes:
    body = bytearray()
    chunks = _MIN_CHUNKS + limit // _CHUNK_SIZE
    while size := _chunk_size(reader.until(b"\r\n", _CHUNK_LINE)):
        chunks -= 1
        if len(body) + size > limit:
            raise BadResponse(f"an answer of more than {limit} bytes")
        if chunks < 0:
            raise BadResponse(f"an answer in more than {_MIN_CHUNKS + limit // _CHUNK_SIZE} chunks")
        body += reader.exactly(size)
        if reader.exactly(2) != b"\r\n":
            raise BadResponse("an answer with a malformed chunk")
    if reader.until(b"\r\n", _CHUNK_LINE):
        raise BadResponse("an answer with trailers")
    return bytes(body)


def _chunk_size(line: bytes) -> int:
    digits, _, _ = line.partition(b";")
    digits = digits.rstrip(b" \t")
    if not (1 <= len(digits) <= 8 and _made_of(digits, _HEX) and _made_of(line, _TEXT)):
        raise BadResponse("an answer with a malformed chunk")
    return int(digits, 16)
