"""HTTP/1.1 of the broker protocol: a strict parser with limits, and the signature of every message.

The parser never guesses: an ambiguous request is refused. No chunked bodies, no continuation lines, no
percent-decoding, no second Content-Length. The head of a request is authenticated before its body is read:
the signature covers the body's hash, which is in the head. See rlm_secure/broker/PROTOCOL.md.

Bytes before a valid signature may come from anybody, so the parser takes linear time: it splits at line ends and at the
first colon, and checks sets of bytes. A regular expression is only used on the request line, whose length is limited.
`broker/transports/http1.py` reads answers in the same way.

Guards: requests to a supervisor: signed, limited in size, and unambiguous
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
from collections.abc import Callable

#: Bytes of a request line and its headers; number of headers. Ingress proxies add a dozen of their own.
MAX_HEAD = 32 * 1024
MAX_HEADERS = 64
#: Bytes of the request line, and of one header.
MAX_REQUEST_LINE = 512
MAX_HEADER = 8 * 1024
#: A buffer up to this size is kept for the next request on its connection.
_KEPT_BODY = 8 * 1024 * 1024
#: Largest number that names a request: exact in every JSON implementation.
MAX_ID = 2**53 - 1

_REQUEST_LINE = re.compile(rb"([A-Z]{1,7}) (/[a-z]{0,16}(?:/[0-9]{1,4})?(?:\?[A-Za-z0-9=&._-]{0,256})?) HTTP/1\.1")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Bytes that are allowed in a header's name, and in its value.
_TOKEN = b"!#$%&'*+.^_`|~-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TEXT = b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_MAX_NAME = 64
#: Headers that have an effect: a duplicate of one of these means an attack or a broken proxy.
_SINGLE = frozenset({"content-length", "rlm-id", "rlm-sha256", "rlm-mac"})

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    411: "Length Required",
    413: "Content Too Large",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
}


class HttpError(Exception):
    """A request is refused: `status` for the peer, `rule` for the audit log."""

    def __init__(self, status: int, rule: str, said: str) -> None:
        super().__init__(said)
        self.status = status
        self.rule = rule


def request_mac(key: bytes, number: str, method: str, target: str, digest: str) -> str:
    """The signature of a request, in hexadecimal. `digest` is the body's sha256, in hexadecimal."""
    return _mac(key, "rlm1-request", number, method, target, digest)


def answer_mac(key: bytes, number: str, method: str, target: str, status: int, digest: str) -> str:
    """The signature of the answer to that request. It is not valid for an answer to any other request."""
    return _mac(key, "rlm1-answer", number, method, target, str(status), digest)


def _mac(key: bytes, *parts: str) -> str:
    return hmac.new(key, "\n".join(parts).encode("ascii"), "sha256").hexdigest()


class SignedRequest:
    """One authenticated request. `body` is complete, and its hash is the signed one."""

    __slots__ = ("body", "digest", "length", "mac", "method", "number", "path", "query", "target")

    def __init__(self, method: str, target: str, number: int, digest: str, mac: str, length: int) -> None:
        self.method = method
        self.target = target
        self.number = number
        self.digest = digest
        self.mac = mac
        self.length = length
        self.body = bytearray()
        self.path, _, query = target.partition("?")
        self.query = _query(query)


def _query(text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in text.split("&") if text else ():
        name, equals, value = part.partition("=")
        if not equals or not name or name in fields:
            raise HttpError(400, "query", "a query is name=value pairs, each name once")
        fields[name] = value
    return fields


class Reader:
    """Parses the bytes of one connection into requests. `limit(method, path)` is the largest body of a route."""

    def __init__(self, key: bytes, limit: Callable[[str, str], int]) -> None:
        self._key = key
        self._limit = limit
        self.signed = False
        """Whether a head on this connection was signed with the key."""
        self._buffer = bytearray()
        self._searched = 0  # bytes of a head that were searched for its end
        self._asked: tuple[str, str] | None = None  # method and target of a head that is not complete
        self._request: SignedRequest | None = None
        self._body = bytearray()
        self._filled = 0

    @property
    def partial(self) -> bool:
        """Whether a request has begun that is not complete."""
        return bool(self._buffer) or self._request is not None

    @property
    def unread(self) -> SignedRequest | None:
        """The authenticated request whose body has not arrived, or does not fit into memory."""
        return self._request

    @property
    def wanted(self) -> int:
        """Bytes that are still missing from an authenticated body; 0 where none is being read."""
        return 0 if self._request is None else self._request.length - self._filled

    def receive(self, connection: socket.socket) -> int:
        """Read once from the peer; returns how much came, 0 at its end. Raises OSError."""
        if self._request is not None:
            # Read into the final buffer, which is reused: a context arrives in many chunks of one size.
            with memoryview(self._body) as body:
                count = connection.recv_into(body[self._filled : self._request.length])
            self._filled += count
            return count
        data = connection.recv(65536)
        self._buffer += data
        return len(data)

    def next(self) -> SignedRequest | None:
        """The next complete request, or None. Its body is valid until the next call.

        Raises HttpError, after which the connection is of no use.
        """
        if self._request is None:
            head = self._head()
            if head is None:
                return None
            self._request = self._authenticated(*head)
            self.signed = True
            if len(self._body) != self._request.length:
                self._body = bytearray(self._request.length)
            self._filled = min(len(self._buffer), self._request.length)
            self._body[: self._filled] = self._buffer[: self._filled]
            del self._buffer[: self._filled]
        request = self._request
        if self._filled < request.length:
            return None
        self._request = None
        if hashlib.sha256(self._body).hexdigest() != request.digest:
            raise HttpError(400, "body-hash", "the body is not what was signed")
        request.body = self._body
        if request.length > _KEPT_BODY:
            self._body = bytearray()
        return request

    def _head(self) -> tuple[str, str, dict[str, str]] | None:
        buffer = self._buffer
        if self._asked is None:
            self._asked = self._request_line()
        end = buffer.find(b"\r\n\r\n", max(self._searched - 3, 0), MAX_HEAD)
        if end < 0:
            self._searched = len(buffer)
            if self._searched >= MAX_HEAD:
                raise HttpError(431, "head-size", f"the head is longer than {MAX_HEAD} bytes")
            return None
        if buffer.count(b"\r\n", 0, end) > MAX_HEADERS:
            raise HttpError(431, "head-size", f"there are more than {MAX_HEADERS} headers")
        asked, lines = self._asked, bytes(buffer[:end]).split(b"\r\n")
        del buffer[: end + 4]
        self._asked, self._searched = None, 0
        assert asked is not None  # the end of the head was found, so the end of its first line was found too
        return *asked, _headers(lines[1:])

    def _request_line(self) -> tuple[str, str] | None:
        """Method and target, or None until their line is complete. Anything but a request is refused at once."""
        end = self._buffer.find(b"\r\n", 0, MAX_REQUEST_LINE + 2)
        if end >= 0:
            return _request_line(bytes(self._buffer[:end]))
        if len(self._buffer) >= MAX_REQUEST_LINE + 2:
            raise HttpError(400, "request-line", f"the request line is longer than {MAX_REQUEST_LINE} bytes")
        if self._buffer and not _could_be_http(self._buffer):
            raise HttpError(400, "request-line", "this is not HTTP")
        return None

    def _authenticated(self, method: str, target: str, headers: dict[str, str]) -> SignedRequest:
        if "transfer-encoding" in headers or "trailer" in headers:
            raise HttpError(400, "transfer-encoding", "a body has a Content-Length; Transfer-Encoding is not accepted")
        number, digest, mac = (headers.get(name, "") for name in ("rlm-id", "rlm-sha256", "rlm-mac"))
        if not (_NUMBER.fullmatch(number) and _DIGEST.fullmatch(digest) and _DIGEST.fullmatch(mac)):
            said = "Rlm-Id, Rlm-Sha256 and Rlm-Mac sign a request; one is missing or malformed"
            raise HttpError(401, "unsigned", said)
        if not hmac.compare_digest(request_mac(self._key, number, method, target, digest), mac):
            raise HttpError(401, "signature", "the signature does not fit")
        if int(number) > MAX_ID:
            raise HttpError(400, "id", "the id is larger than 2**53 - 1")
        length = headers.get("content-length", "" if method in ("POST", "PUT") else "0")
        if not length:
            raise HttpError(411, "content-length", "a body has a Content-Length")
        if not _NUMBER.fullmatch(length):
            raise HttpError(400, "content-length", "the Content-Length is not a number")
        request = SignedRequest(method, target, int(number), digest, mac, int(length))
        limit = self._limit(method, request.path)
        if request.length > limit:
            said = f"a body of {request.length} bytes is over the limit of {limit} for {method}"
            raise HttpError(413, "body-size", said)
        return request


def _could_be_http(buffer: bytearray) -> bool:
    return 64 <= buffer[0] <= 90 and b"\0" not in buffer


def _request_line(line: bytes) -> tuple[str, str]:
    match = _REQUEST_LINE.fullmatch(line)
    if match is not None:
        return match[1].decode(), match[2].decode()
    words = line.split(b" ")
    if len(words) == 3 and words[2].startswith(b"HTTP/") and words[2] != b"HTTP/1.1":
        raise HttpError(505, "http-version", "only HTTP/1.1 is spoken here")
    raise HttpError(400, "request-line", "the request line is not METHOD /path HTTP/1.1")


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        if len(line) > MAX_HEADER:
            raise HttpError(431, "head-size", f"a header is longer than {MAX_HEADER} bytes")
        token, colon, value = line.partition(b":")
        if not (colon and 0 < len(token) <= _MAX_NAME and _made_of(token, _TOKEN) and _made_of(value, _TEXT)):
            raise HttpError(400, "header", "a header is not `name: value` on one line")
        name = token.decode("ascii").lower()
        if name in _SINGLE and name in headers:
            raise HttpError(400, "duplicate-header", f"the header {name} comes twice")
        headers[name] = value.strip(b" \t").decode("latin-1")
    return headers


def _made_of(data: bytes, allowed: bytes) -> bool:
    """Whether each byte of `data` is one of `allowed`."""
    return not data.translate(None, allowed)


def answer(key: bytes, request: SignedRequest, status: int, body: bytes) -> bytes:
    """The bytes of a signed answer. `body` is JSON, already encoded."""
    digest = hashlib.sha256(body).hexdigest()
    mac = answer_mac(key, str(request.number), request.method, request.target, status, digest)
    return b"".join(
        (
            f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nRlm-Id: {request.number}\r\nRlm-Mac: {mac}\r\n\r\n".encode("ascii"),
            body,
        )
    )


def unsigned_answer(status: int, body: bytes) -> bytes:
    """The bytes of an answer to a request without a valid signature. The connection is closed after it."""
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
