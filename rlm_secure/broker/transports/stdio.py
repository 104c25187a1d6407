"""The stream of an exec in the sandbox, as connections to the supervisor: the host's end of `guest/dial.py`.

Nothing listens and no port is open. Lines may be lost, doubled or mixed with noise; whole streams may break,
and are dialled again: a request that was under way is then sent again by its sender, under its old number.

Guards: the bytes of an exec's stream: bounded, numbered, of known types
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from rlm_secure.broker.protocol import decode
from rlm_secure.broker.transports import Answer, Cut, Transport, left
from rlm_secure.broker.transports.http1 import exchange
from rlm_secure.errors import ProtocolViolation

MAX_LINE: Final = 96 * 1024
PIECE: Final = 48 * 1024
WINDOW: Final = 2 * 1024 * 1024
#: Bytes that may come without bringing anything new: a shell's noise, or a window that is sent again.
_MAX_FUTILE = 4 * WINDOW
_AGAIN_SECONDS = 0.5
_RESEND_SECONDS = 2.0
_WRITE_SECONDS = 10.0
_MAX_INBOUND = 32 * 1024 * 1024
_HELLO_SECONDS = 30.0


class Pipe(Protocol):
    """A stream to a `dial` process. Thread-safe for one reader and one writer; both raise Cut when it breaks."""

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of it until `deadline`, or raise Cut."""

    def read(self, deadline: float) -> bytes:
        """What came; b"" at the end. Raises TimeoutError when nothing comes until `deadline`."""

    def close(self) -> None:
        """Close it. Idempotent."""


class StdioTransport(Transport):
    """Connections over one dialled stream. `dial` starts a new one: at first, and when one breaks."""

    name = "exec"

    def __init__(self, dial: Callable[[], Pipe]) -> None:
        self._dial = dial
        self._lock = threading.Lock()
        self._tube: _Tube | None = None
        self._idle: list[_Channel] = []
        self._closed = False

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | memoryview,
        *,
        limit: int,
        deadline: float,
    ) -> Answer:
        """See Transport.request."""
        channel = self._take(deadline)
        keep = False
        try:
            answer, keep = exchange(channel, method, target, headers, body, limit=limit, deadline=deadline)
            return answer
        finally:
            with self._lock:
                if keep and channel.usable:
                    self._idle.append(channel)
                else:
                    channel.close()

    def close(self) -> None:
        """Say bye and close the stream. Idempotent."""
        with self._lock:
            self._closed = True
            tube, self._tube = self._tube, None
            self._idle.clear()
        if tube is not None:
            tube.close()

    def _take(self, deadline: float) -> _Channel:
        with self._lock:
            if self._closed:
                raise Cut("the transport is closed")
            if self._tube is None or self._tube.broken:
                if self._tube is not None:
                    self._tube.close()
                self._idle.clear()
                self._tube = _Tube(self._dial(), min(deadline, time.monotonic() + _HELLO_SECONDS))
            while self._idle:
                channel = self._idle.pop()
                if channel.usable:
                    return channel
            return self._tube.channel()


class _Channel:
    """One connection through the tube, with the few methods of a socket that an HTTP exchange needs."""

    def __init__(self, tube: _Tube, name: int) -> None:
        self._tube = tube
        self._name = name
        self._timeout = 0.0
        self.inbound = bytearray()
        self.ended = False

    @property
    def usable(self) -> bool:
        """Whether it can carry another request."""
        return not self.ended and not self.inbound and not self._tube.broken

    def settimeout(self, seconds: float) -> None:
        """How long the next call may take."""
        self._timeout = seconds

    def send(self, data: bytes | memoryview) -> int:
        """Send at most one piece; returns its size. Raises OSError when the connection or its tube is gone."""
        piece = bytes(data[:PIECE])
        self._tube.send(self, self._name, piece, time.monotonic() + self._timeout)
        return len(piece)

    def recv(self, size: int) -> bytes:
        """What came, at most `size` bytes; b"" at the end. Raises OSError in the same cases, or in time."""
        return self._tube.receive(self, size, time.monotonic() + self._timeout)

    def close(self) -> None:
        """Close both ends."""
        self._tube.drop(self._name, tell=not self.ended)


class _Tube:
    """One dialled stream: numbering, acknowledgements, and a thread that reads it."""

    def __init__(self, pipe: Pipe, deadline: float) -> None:
        self._pipe = pipe
        self._change = threading.Condition()
        self._writing = threading.Lock()
        self._channels: dict[int, _Channel] = {}
        self._names = 0
        self._sent = 0
        self._received = 0
        self._told = 0
        self._gap = False
        self._bytes_out = 0
        self._unacknowledged: deque[tuple[int, int, dict[str, Any]]] = deque()
        self._oldest_at = 0.0
        self._asked_at = 0.0
        self._greeted = False
        self.broken = ""
        self._reader = threading.Thread(target=self._read, name="rlm_secure-dial", daemon=True)
        self._reader.start()
        with self._change:
            while not self._greeted and not self.broken:
                if not self._change.wait(max(deadline - time.monotonic(), 0)):
                    self.broken = "nobody answered in there"
        if self.broken:
            self.close()
            raise Cut(f"the sandbox could not be dialled: {self.broken}")

    def channel(self) -> _Channel:
        """A fresh connection; it opens with the first bytes that are sent."""
        with self._change:
            self._names += 1
            channel = self._channels[self._names] = _Channel(self, self._names)
            return channel

    def send(self, channel: _Channel, name: int, data: bytes, deadline: float) -> None:
        """Send bytes of a connection, once the window has room for them."""
        with self._change:
            while self._bytes_out + len(data) > WINDOW and not self.broken and not channel.ended:
                if not self._change.wait(left(deadline)):
                    raise Cut("the sandbox does not read")
            if self.broken or channel.ended:
                raise BrokenPipeError(self.broken or "the connection was closed")
        self._put({"c": name, "d": base64.b64encode(data).decode("ascii")}, len(data), deadline)

    def receive(self, channel: _Channel, size: int, deadline: float) -> bytes:
        """Bytes of a connection, once there are some."""
        with self._change:
            while not channel.inbound and not channel.ended and not self.broken:
                if not self._change.wait(left(deadline)):
                    raise TimeoutError("nothing came")
            if self.broken and not channel.inbound:
                raise BrokenPipeError(self.broken)
            data = bytes(channel.inbound[:size])
            del channel.inbound[:size]
            return data

    def drop(self, name: int, *, tell: bool) -> None:
        """Forget a connection, and have it closed in there."""
        with self._change:
            if self._channels.pop(name, None) is None or not tell or self.broken:
                return
        with contextlib.suppress(Cut):
            self._put({"c": name, "end": True}, 0, time.monotonic() + 1.0)

    def close(self) -> None:
        """Say bye and close. Idempotent."""
        if not self.broken:
            with contextlib.suppress(Cut):
                self._put({"bye": True}, None, time.monotonic() + 1.0)
        self._break("it was closed")
        self._pipe.close()

    # -- lines ------------------------------------------------------------------------------------

    def _put(self, line: dict[str, Any], size: int | None, deadline: float) -> None:
        """Write a line; one that carries `size` bytes gets the next number, and is kept until acknowledged."""
        with self._writing:  # numbers are given in the order of writing
            with self._change:
                if size is not None:
                    self._sent += 1
                    line = {"n": self._sent, **line}
                    if not self._unacknowledged:
                        self._oldest_at = time.monotonic()
                    self._unacknowledged.append((self._sent, size, line))
                    self._bytes_out += size
                self._told = self._received
                data = json.dumps({"a": self._received, **line}, separators=(",", ":")).encode("ascii") + b"\n"
            try:
                self._pipe.write(data, deadline)
            except Cut as cut:
                self._break(str(cut))
                raise

    def _break(self, why: str) -> None:
        with self._change:
            self.broken = self.broken or why
            self._change.notify_all()

    def _read(self) -> None:
        buffer = bytearray()
        futile = 0
        try:
            while not self.broken:
                with contextlib.suppress(TimeoutError):
                    data = self._pipe.read(time.monotonic() + _AGAIN_SECONDS)
                    if not data:
                        raise Cut("the stream ended")
                    buffer += data
                while (end := buffer.find(b"\n")) >= 0:
                    line = bytes(buffer[:end])
                    del buffer[: end + 1]
                    useful = line.startswith(b"{") and len(line) <= MAX_LINE and self._line(line)
                    futile = 0 if useful else futile + end + 1
                if futile + len(buffer) > _MAX_FUTILE:
                    raise Cut("the stream carries something else")
                self._tend()
        except (Cut, OSError) as error:
            self._break(str(error))

    def _line(self, data: bytes) -> bool:
        """Take one line; False when it is not one of ours, or brings nothing new."""
        try:
            line = decode(data, limit=MAX_LINE)
            fields = _fields(line)
        except (ProtocolViolation, ValueError):
            return False
        with self._change:
            before = (self._received, len(self._unacknowledged), self._greeted)
            self._greeted = self._greeted or "hello" in line
            while self._unacknowledged and self._unacknowledged[0][0] <= fields.acknowledged:
                self._bytes_out -= self._unacknowledged.popleft()[1]
                self._oldest_at = time.monotonic()
            if line.get("again") is True:
                self._oldest_at = 0.0
            if fields.number is not None:
                self._numbered(fields, fields.number)
            self._change.notify_all()
            return before != (self._received, len(self._unacknowledged), self._greeted)

    def _numbered(self, fields: _Fields, number: int) -> None:
        if number == self._received + 1:
            self._received += 1
            channel = self._channels.get(fields.channel)
            if channel is not None:
                channel.inbound += fields.data
                channel.ended = channel.ended or fields.end
                if len(channel.inbound) > _MAX_INBOUND:
                    raise Cut("the sandbox sends more than anybody asked for")
        elif number <= self._received:
            self._told = -1  # a double: our acknowledgement was lost
        elif time.monotonic() - self._asked_at > _AGAIN_SECONDS:
            self._asked_at = time.monotonic()
            self._gap = True

    def _tend(self) -> None:
        """Acknowledge, ask for what is missing, and send again what was not acknowledged for too long."""
        with self._change:
            now = time.monotonic()
            overdue = bool(self._unacknowledged) and now - self._oldest_at > _RESEND_SECONDS
            lines = [dict(line) for _, _, line in self._unacknowledged] if overdue else []
            if overdue:
                self._oldest_at = now
            if self._gap:
                lines.append({"again": True})
                self._gap = False
            elif self._told != self._received and not lines:
                lines.append({})
        for line in lines:
            self._put(line, None, time.monotonic() + _WRITE_SECONDS)


class _Fields:
    """The checked fields of one line."""

    __slots__ = ("acknowledged", "channel", "data", "end", "number")

    def __init__(self, number: int | None, acknowledged: int, channel: int, data: bytes, end: bool) -> None:
        self.number = number
        self.acknowledged = acknowledged
        self.channel = channel
        self.data = data
        self.end = end


def _fields(line: Mapping[str, Any]) -> _Fields:
    """Raises ValueError for anything but the fields that dial.py documents."""
    numbers = {name: line.get(name, 0) for name in ("n", "a", "c")}
    text, end = line.get("d", ""), line.get("end", False)
    if any(type(value) is not int or not 0 <= value < 2**53 for value in numbers.values()):
        raise ValueError("a number is not one")
    if not isinstance(text, str) or not isinstance(end, bool) or not re.fullmatch(r"[A-Za-z0-9+/]*={0,2}", text):
        raise ValueError("data is not base64")
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("data is not base64") from None
    return _Fields(numbers["n"] if "n" in line else None, numbers["a"], numbers["c"], data, end)
