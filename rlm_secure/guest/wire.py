"""Frames between host (or supervisor) and worker, on one stream socket.

A frame is a 4-byte big-endian length followed by that many bytes of ASCII JSON, one object. JSON is escaped
to ASCII, so that lone surrogates, which UTF-8 cannot carry, reach a cell as they were; the host spells them out.

Strict alternation, no multiplexing: the host sends one request, the worker answers with zero or more
`call` frames, each answered by one `reply`, and then exactly one `done`. A worker that breaks the order
is killed.

host -> worker
    begin    {modules, source_bytes, ast_nodes, stdout_bytes, value_bytes, result_bytes, tools, features, screen}
    exec     {code}
    assign   {name, value}
    alias    {name, target}
    context  {name, kind, length}   with one fd, a sealed memfd; kinds in memory.py
    read     {name}
    reply    {value} or {error}
worker -> host
    ready    {walls: {wall: [level, evidence]}, details}    once, before the first untrusted byte
    call     {call, prompts, model} or {call: "tool", tool, args, kwargs}
    done     see guest/worker.py
"""

from __future__ import annotations

import _json
import _socket
import json
import os
import struct
from typing import Any, cast

#: The only file descriptor of a worker.
FD = 3
#: Largest frame that a worker accepts; the host has its own, smaller cap for the other direction.
MAX_FRAME = 256 * 1024 * 1024

_HEADER = struct.Struct(">I")
# What JSONEncoder.encode makes anew for each message, which takes longer than to encode a short one: ASCII without
# spaces; circles are not looked for, as recursion ends them; keys are not sorted and none is skipped; no NaN.
_chunks = _json.make_encoder(
    None, json.JSONEncoder().default, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)
_scan = cast(Any, json.JSONDecoder()).scan_once


def encode(message: dict[str, Any]) -> str:
    """`message` as ASCII JSON. Raises TypeError or ValueError when it is none."""
    return "".join(_chunks(message, 0))


def frame(message: dict[str, Any], limit: int = MAX_FRAME) -> bytes:
    """`message` with its length before it; nothing where it has more than `limit` bytes."""
    body = encode(message).encode("ascii")
    return _HEADER.pack(len(body)) + body if len(body) <= limit else b""


def decode(text: str) -> dict[str, Any]:
    """The object that `text` begins with; it comes from the host, which writes nothing else."""
    message: dict[str, Any] = _scan(text, 0)[0]
    return message


class Closed(Exception):
    """The peer closed the channel: there is nobody left to work for."""


class Channel:
    """Frames over one connected stream socket. Keeps what it read too much of for the next frame."""

    __slots__ = ("_buffer", "_fds", "_socket")

    def __init__(self, connection: _socket.socket) -> None:
        # The socket object exists before the seccomp filter does: its constructor calls getsockname.
        self._socket = connection
        self._buffer = bytearray()
        self._fds: list[int] = []

    def send_within(self, message: dict[str, Any], limit: int) -> bool:
        """Write one frame if its body has at most `limit` bytes; returns whether it was written.

        Raises Closed when the peer is gone, ValueError when `message` is not JSON.
        """
        view = memoryview(frame(message, limit))
        if not view:
            return False
        try:
            while view:
                # os.write, not sendmsg: the filter allows write(3) alone, so a worker can never pass an fd on.
                view = view[os.write(FD, view) :]
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error
        return True

    def receive(self) -> dict[str, Any]:
        """Read one frame and return its object; file descriptors wait for `take_fd`."""
        buffer = self._buffer
        self._fill(_HEADER.size)
        (length,) = _HEADER.unpack_from(buffer)
        if length > MAX_FRAME:
            raise Closed(f"frame of {length} bytes")
        end = _HEADER.size + length
        self._fill(end)
        body = buffer[_HEADER.size : end]
        del buffer[:end]
        return decode(body.decode("ascii"))

    def take_fd(self) -> int:
        """The file descriptor that came with the last frame."""
        return self._fds.pop()

    def _fill(self, size: int) -> None:
        buffer = self._buffer
        while len(buffer) < size:
            chunk, ancillary, _flags, _address = self._socket.recvmsg(max(65536, size - len(buffer)), 64)
            if not chunk:
                raise Closed
            for level, kind, data in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    self._fds.extend(struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4]))
            buffer += chunk
