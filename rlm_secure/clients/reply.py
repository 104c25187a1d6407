"""A reply of a provider between its connection and the SDK: counted while it arrives, checked before the SDK parses it.

The SDK never gets a compressed body, a character set other than UTF-8, a redirect, a cookie, or JSON that takes more
memory than the policy's limit of a reply allows.

Guards: the bounds of bytes, memory, values and depth of a reply, before an SDK parses it
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Final

from rlm_secure import untrusted_json
from rlm_secure.clients.call import ModelCall

#: Most header lines of a reply.
_HEADERS: Final = 128
#: Most bytes that are kept of an error reply: only its error code is used.
_ERROR_BYTES: Final = 64 * 1024
#: Most memory that an SDK's object for one JSON value takes: measured with the smallest values.
_VALUE_BYTES: Final = 1024
#: Headers that only the HTTP library needs, or that would make a client act or store something.
_WITHHELD: Final = frozenset(
    {
        b"connection", b"content-encoding", b"content-length", b"content-type", b"location", b"set-cookie",
        b"set-cookie2", b"trailer", b"transfer-encoding",
    }
)  # fmt: skip
_EVENTS: Final = b"text/event-stream; charset=utf-8"
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Reply:
    """One reply of `status` with `headers`, for `call`. Every method raises ProviderError when a limit is exceeded.

    `is_stream`: it was asked for as a stream, and is one: see rlm_secure.clients.streaming.
    """

    def __init__(self, call: ModelCall, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        call.body()
        if status < 300:
            call.sends()  # also where a connection of the caller's own does not say so
        else:
            call.refused()
        self._call = call
        self.status = status
        lines = [(name.lower(), value) for name, value in headers]
        if len(lines) > _HEADERS:
            raise call.refuse(f"its reply has more than {_HEADERS} headers; check the server at base_url")
        encoding = b",".join(value for name, value in lines if name == b"content-encoding").strip().lower()
        # For an error reply that is compressed, the status is enough.
        self._is_dropped = encoding not in (b"", b"identity")
        if self._is_dropped and status < 300:
            raise call.refuse(
                "its reply is compressed, though it was asked for as it is; turn compression off at the server or proxy"
            )
        self.headers = [(name, value) for name, value in lines if name not in _WITHHELD]
        kind = _content_type(lines)
        self.is_stream = call.streams and status < 300 and kind == _EVENTS
        self.headers.append((b"content-type", kind))
        self._read_retry(lines)
        whole = call.stream_bytes if self.is_stream else call.body_bytes
        self._limit = whole if status < 300 else _ERROR_BYTES
        if status < 300 and any(name == b"content-length" and _number(value) > self._limit for name, value in lines):
            raise call.too_large()
        self._body = io.BytesIO()

    def add(self, piece: bytes) -> bool:
        """Add one piece of the body. Returns whether more is wanted."""
        self._call.piece()
        if self._is_dropped:
            return False
        self._body.write(piece)
        if self._body.tell() <= self._limit:
            return True
        if self.status < 300:
            raise self._call.too_large()
        self._is_dropped = True
        return False

    def content(self) -> bytes:
        """The whole body, checked; b"" for an error reply that is too long or not JSON."""
        # BytesIO shares its buffer with getvalue(): no second copy.
        raw = b"" if self._is_dropped else self._body.getvalue()
        self._body = io.BytesIO()
        if self.status < 300:
            checked(self._call, raw)
            return raw
        try:
            untrusted_json.bound(raw, nodes=_ERROR_BYTES // 64)
        except untrusted_json.MalformedJson:
            return b""
        return raw

    def _read_retry(self, lines: list[tuple[bytes, bytes]]) -> None:
        for name, value in lines:
            if name == b"x-should-retry":
                self._call.may_retry = value.strip().lower() != b"false"
            elif name in (b"retry-after", b"retry-after-ms"):
                seconds = _number(value) / (1000 if name.endswith(b"ms") else 1)
                # Longer than a minute, or a date: the usual pause applies.
                if 0 < seconds <= 60:
                    self._call.retry_after = seconds


def checked(call: ModelCall, raw: bytes) -> dict[str, Any]:
    """The JSON object `raw`. Raises ProviderError for anything else, and for more memory than a reply may take."""
    if b"\0" in raw[:4] or raw[:2] in _BYTE_ORDER_MARKS:
        raise call.refuse("its reply is not UTF-8; check the server at base_url")
    texts = len(raw) + _decoded_bytes(raw)
    if texts > call.memory:
        raise call.refuse(
            f"its reply takes more memory than four times {call.limit} = {call.reply_bytes:,}; ask for a shorter one"
        )
    values = 64 + (call.memory - texts) // _VALUE_BYTES
    try:
        # For anything but an object an SDK searches, quotes and masks the text, in unbounded time.
        value = untrusted_json.loads(raw, nodes=values)
    except untrusted_json.MalformedJson as error:
        raise call.refuse(f"its reply was not read as JSON ({error}); ask for less, or check base_url") from None
    if not isinstance(value, dict):
        raise call.refuse("its reply is no JSON object; check base_url")
    call.wait()
    return value


def _content_type(lines: list[tuple[bytes, bytes]]) -> bytes:
    """JSON, events or text. Never a character set of the provider's choice: one of Python's codecs decompresses."""
    said = b",".join(value for name, value in lines if name == b"content-type").lower()
    if b"text/event-stream" in said:
        return _EVENTS
    return b"application/json" if b"json" in said else b"text/plain; charset=utf-8"


def _number(value: bytes) -> float:
    """The number in a header; 0 for anything else."""
    try:
        return float(value[:24])
    except ValueError:
        return 0.0


def _decoded_bytes(raw: bytes) -> int:
    """Bytes of memory for `raw` decoded to a str, plus the str of the text in it.

    The widest character sets the width of every character of a str; an escape is one character only in the second.
    """
    characters = len(raw.translate(None, _CONTINUATION))
    width = text_width = _width(raw)
    # A pair of backslashes is an escaped backslash: what follows it is not an escape.
    escapes = raw.replace(b"\\\\", b"").count(b"\\u") if b"\\u" in raw else 0
    if escapes:
        text_width = max(width, 4 if b"\\ud" in raw or b"\\uD" in raw else 2)
    return width * characters + text_width * (characters - 5 * escapes)


def _width(raw: bytes) -> int:
    """Bytes that each character of `raw` takes in a str."""
    if raw.isascii():
        return 1
    if any(byte in raw for byte in range(0xF0, 0xF5)):
        return 4
    return 2 if any(byte in raw for byte in range(0xC4, 0xF0)) else 1
