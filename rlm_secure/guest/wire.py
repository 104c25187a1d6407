"""Frames between host (or supervisor) and worker, on one stream socket.

A frame is a 4-byte big-endian length followed by that many bytes of ASCII JSON, one object. JSON is escaped to ASCII,
because UTF-8 cannot carry lone surrogates: a cell receives them unchanged, and the host writes them as `\\udXXX`.

The two sides strictly take turns: the host sends one request; the worker answers with zero or more `call` frames, each
answered by one `reply`, and then exactly one `done`. A worker that breaks the order is killed. Each frame of the host
carries a new `nonce`, and the worker repeats the nonce of the last frame that it read. So a frame that was written
before a request was read is not accepted as the answer to it.

host -> worker
    begin    {modules, source_bytes, ast_nodes, stdout_bytes, value_bytes, result_bytes, tools, screen}
    exec     {code}
    assign   {name, value}
    alias    {name, target}
    context  {name, kind, length}   with one fd, a sealed memfd; kinds in memory.py
    read     {name}
    reply    {value} or {error}
worker -> host
    ready    {walls: {wall: [level, evidence]}, details}    once, before the first untrusted byte
    call     {call, prompts, model} or {call: "tool", tool, args, kwargs}
    done     see guest/session/worker.py

`loads` is the only JSON reader in the guest, for supervisor, zygote and worker. It limits nesting and digits on the raw
bytes, before a parser sees them.

Guards: the limits on depth and digits, checked before any parser in the guest sees a byte; the frames of a worker
"""

from __future__ import annotations

import _json
import _socket
import json
import os
import struct
from itertools import accumulate
from typing import Any, NoReturn, cast

#: The only file descriptor of a worker.
FD = 3
#: Largest frame that a worker accepts; the host has its own, smaller cap for the other direction.
MAX_FRAME = 256 * 1024 * 1024

_HEADER = struct.Struct(">I")


def _unwritable(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no JSON")


# ASCII without spaces; no check for circular references, because RecursionError ends them. The C encoder itself: the
# json module of a worker has another, with checks that cells need (language/facades/borrowed.py).
_in_c: Any = _json.make_encoder(None, _unwritable, _json.encode_basestring_ascii, None, ":", ",", False, False, False)

#: Levels of lists and objects: as many as Python writes and reads with its default recursion limit.
MAX_DEPTH = 1000
#: Digits of an integer, of a fraction, of an exponent: as many as Python converts to and from text by default.
MAX_DIGITS = 4300

_TOO_LONG = b"0" * (MAX_DIGITS + 1)
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_NOT_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
#: Each bracket as a step up or down, in a signed byte.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_WHITE = " \t\n\r"


class MalformedJson(ValueError):
    """The data is not JSON, or exceeds the limits."""


def loads(data: bytes | bytearray, *, strict: bool = False) -> Any:
    """The JSON value in `data`, which is ASCII. Raises MalformedJson for anything else, and RecursionError.

    `strict` also refuses NaN, Infinity and duplicate keys: values of the host may have them, requests may not.
    """
    bound(data)
    try:
        document = data.decode("ascii").strip(_WHITE)
        value, end = (_scan_strictly if strict else _scan)(document, 0)
    except (ValueError, StopIteration):
        raise MalformedJson("not JSON in ASCII") from None
    if end != len(document):
        raise MalformedJson("something stands behind the value")
    return value


def bound(raw: bytes | bytearray) -> None:
    """Check the limits on depth and digits. Raises MalformedJson where `raw` exceeds one."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH and not _has_long_number(raw):
        return
    # Once escaped backslashes and then escaped quotation marks are removed, every remaining mark begins or ends a
    # string. For bytes that are not JSON this can be wrong, but only after the first error, where every parser stops.
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = b'"'.join(plain.split(b'"')[::2])
    if _has_long_number(bare):
        raise MalformedJson(f"a number of more than {MAX_DIGITS} digits")
    steps = memoryview(bare.translate(_STEPS, _NOT_BRACKETS)).cast("b")
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise MalformedJson(f"nested deeper than {MAX_DEPTH}")


def _has_long_number(raw: bytes | bytearray) -> bool:
    return len(raw) > MAX_DIGITS and _TOO_LONG in raw.translate(_DIGITS_ALIKE)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise MalformedJson("a key that comes twice")
    return value


def _constant(name: str) -> NoReturn:
    raise MalformedJson(f"{name}, which is no number in JSON")


_scan = cast(Any, json.JSONDecoder()).scan_once
_scan_strictly = cast(Any, json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_object)).scan_once


def encode(message: Any) -> str:
    """`message` as ASCII JSON. Raises TypeError or ValueError when it cannot be written as JSON."""
    return "".join(_in_c(message, 0))


def frame(message: dict[str, Any], limit: int = MAX_FRAME) -> bytes:
    """`message` as a frame, or empty bytes when it has more than `limit` bytes."""
    body = encode(message).encode("ascii")
    return _HEADER.pack(len(body)) + body if len(body) <= limit else b""


class Closed(Exception):
    """The peer closed the channel, or broke the protocol: the worker has nobody left to work for."""


class FrameChannel:
    """Frames over one connected stream socket. Bytes read past the end of a frame are kept for the next one."""

    __slots__ = ("_buffer", "_fds", "_socket", "nonce")

    def __init__(self, connection: _socket.socket) -> None:
        # The caller creates the socket before the seccomp filter is installed: its constructor calls getsockname.
        self._socket = connection
        self._buffer = bytearray()
        self._fds: list[int] = []
        self.nonce: Any = None
        """The nonce of the last frame that was read."""

    def send_within(self, message: dict[str, Any], limit: int) -> bool:
        """Write one frame if its body has at most `limit` bytes, and return whether it was written.

        Raises Closed when the peer is gone, ValueError when `message` is not JSON.
        """
        view = memoryview(frame({**message, "nonce": self.nonce}, limit))
        if not view:
            return False
        try:
            while view:
                # os.write, not sendmsg: the filter only allows write to descriptor 3, so no worker can pass on an fd.
                view = view[os.write(FD, view) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error
        return True

    def receive(self) -> dict[str, Any]:
        """Read one frame and return its object. File descriptors are kept for `take_fd`. Raises Closed."""
        self._fill(_HEADER.size)
        (length,) = _HEADER.unpack_from(self._buffer)
        if length > MAX_FRAME:
            raise Closed(f"frame of {length} bytes")
        end = _HEADER.size + length
        self._fill(end)
        # As bytes, and without `del`: a bytearray's methods are written in Python here (language/held_memory.py).
        body = bytes(memoryview(self._buffer)[_HEADER.size : end])
        self._buffer = self._buffer[end:]
        try:
            message = loads(body)
        except (MalformedJson, RecursionError) as refused:
            raise Closed(f"a frame is {refused}") from None
        if not isinstance(message, dict):
            raise Closed("a frame is no object")
        self.nonce = message.pop("nonce", None)
        return message

    def take_fd(self) -> int:
        """The file descriptor that came with the last frame."""
        return self._fds.pop()

    def _fill(self, size: int) -> None:
        """Read until the buffer has `size` bytes, and what comes with them. Raises Closed."""
        buffer = self._buffer
        while len(buffer) < size:
            chunk, ancillary, _flags, _address = self._socket.recvmsg(max(65536, size - len(buffer)), 64)
            if not chunk:
                raise Closed
            for level, kind, data in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    self._fds.extend(fd for (fd,) in struct.iter_unpack("i", data))
            buffer += chunk
