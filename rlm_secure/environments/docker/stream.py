"""A hijacked connection to a container: raw bytes in; out come frames that name their stream."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import time
from typing import Any

from rlm_secure.broker.transports import BadResponse, TransportLost, left
from rlm_secure.broker.transports.lines import Charge

_HEADER = struct.Struct(">BxxxI")
_STDOUT, _STDERR = 1, 2
_MAX_FRAME = 16 * 1024 * 1024
_STDERR_KEPT = 4096
#: Most bytes accepted on standard error.
_STDERR_BYTES = 4 * 1024 * 1024


class ExecStream:
    """Standard input and output of a container's process or of an exec in it.

    `errors` keeps the last 4,096 bytes of standard error: for messages only, never trusted.
    """

    #: Nothing: a write ends when the engine has it.
    undelivered = 0

    def __init__(self, hijacked: Any) -> None:
        self._owner = hijacked  # the SDK's object closes the connection when it is garbage-collected
        self._socket: socket.socket = getattr(hijacked, "_sock", hijacked)
        self._buffer = bytearray(_early(hijacked, self._socket))
        self._complaints = Charge(_STDERR_BYTES)
        self.errors = b""

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of `data`. Raises TransportLost."""
        view = memoryview(data)
        try:
            while view:
                self._socket.settimeout(left(deadline))
                view = view[self._socket.send(view[: 1 << 20]) :]
        except OSError as error:
            raise TransportLost(f"the stream to the container broke: {error}") from None

    def read(self, deadline: float) -> bytes:
        """The next bytes of standard output; b"" at its end.

        Raises TimeoutError when none have come by `deadline`, BadResponse for more than 4 MiB on standard error, and
        TransportLost.
        """
        while True:
            kind, data = self._frame(deadline)
            if kind != _STDERR:
                return data
            self.errors = (self.errors + data[-_STDERR_KEPT:])[-_STDERR_KEPT:]
            self._complaints.took(len(data))
            if time.monotonic() >= deadline:
                raise TimeoutError("it only complains")

    def last_words(self, seconds: float) -> str:
        """The end of standard error of a process that is ending, as one line of printable text.

        Reads for at most `seconds`, even when the process lives on and keeps writing.
        """
        deadline = time.monotonic() + seconds
        with contextlib.suppress(TransportLost, BadResponse, TimeoutError):
            while time.monotonic() < deadline and self.read(deadline):
                pass
        text = self.errors.decode("utf-8", "replace").strip().replace("\n", " | ")
        return "".join(character if character.isprintable() else "?" for character in text)[-400:]

    def close(self) -> None:
        """Close the connection: the process reads the end of its standard input. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for each in (self._owner, self._socket):
            with contextlib.suppress(OSError):
                each.close()

    def _frame(self, deadline: float) -> tuple[int, bytes]:
        """The engine's next frame. An incomplete frame stays in the buffer, so that a timeout loses nothing."""
        looked = False
        while True:
            if len(self._buffer) >= _HEADER.size:
                kind, size = _HEADER.unpack_from(self._buffer)
                if kind not in (0, _STDOUT, _STDERR) or size > _MAX_FRAME:
                    raise TransportLost("the engine's stream is not in frames")
                if len(self._buffer) >= _HEADER.size + size:
                    data = bytes(self._buffer[_HEADER.size : _HEADER.size + size])
                    del self._buffer[: _HEADER.size + size]
                    return kind, data
            if looked and time.monotonic() >= deadline:
                raise TimeoutError("it goes on to come")
            looked = True
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                chunk = self._socket.recv(65536)
            except TimeoutError:
                raise
            except OSError as error:
                raise TransportLost(f"the stream from the container broke: {error}") from None
            if not chunk:
                return _STDOUT, b""
            self._buffer += chunk


def _early(hijacked: Any, connection: socket.socket) -> bytes:
    """What came in one piece with the engine's answer: the SDK takes the socket from behind the reader that has it.

    At most the 8,192 bytes of that reader. The stream of an engine behind ssh is of another kind, and read as it is.
    Source: docker 7.2, `APIClient._get_raw_response_socket`.
    """
    response = getattr(hijacked, "_response", None)
    reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    if not isinstance(reader, io.BufferedReader):
        return b""
    if hijacked not in (reader.raw, getattr(reader.raw, "_sock", None)):  # the latter where it speaks TLS
        return b""
    connection.settimeout(0)  # what has not come yet is not waited for
    with contextlib.suppress(OSError):  # who reads next is told
        return reader.peek()
    return b""
