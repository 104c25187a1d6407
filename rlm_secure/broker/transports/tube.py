"""One dialled stream: numbered lines, acknowledgements, connections, and a thread that reads it.

Unrequested and duplicate data is charged (`lines.Charge`), and what the sandbox requests again is counted: a stream
over either limit is closed immediately.

Guards: what an exec's stream may cost the host: time, memory, and resent bytes
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections import deque
from typing import Any, Final, Protocol

from rlm_secure.broker.protocol import decode
from rlm_secure.broker.transports import BadResponse, Stored, TransportLost, left
from rlm_secure.broker.transports.lines import EACH, MAX_LINE, Charge, Fields, Lines, fields
from rlm_secure.errors import ProtocolViolation

PIECE: Final = 48 * 1024
WINDOW: Final = 2 * 1024 * 1024
#: Bytes that may arrive without progress: a shell's noise, or a window that is resent.
_MAX_FUTILE = 4 * WINDOW
#: Bytes that may be resent, and how many more per byte acknowledged: on a lossy stream, most windows are resent.
_MAX_RESENT = 8 * WINDOW
_RESENT_PER_BYTE = 8
_AGAIN_SECONDS = 0.5
#: Bytes received, and seconds, after which they are acknowledged by a line of its own. Until then, the next line that
#: carries something does it.
_OWED_BYTES = WINDOW // 8
_OWED_SECONDS = 1.0
#: Shortest time between two resends of the same lines, and between two answers to duplicate lines.
_PACE_SECONDS = 0.25
#: The shortest and the longest wait for an acknowledgement after the last one, or after everything was delivered. In
#: between it is what the last round trips took, a quarter more, and `_OWED_SECONDS`; after each vain wait, half more.
_RESEND_SECONDS = (2.0, 30.0)
_WRITE_SECONDS = 10.0
_MAX_INBOUND = 32 * 1024 * 1024


class Pipe(Protocol):
    """A stream to a `dial` process, for one reader and one writer; both raise TransportLost when it breaks."""

    @property
    def undelivered(self) -> int:
        """Bytes written that wait on this side, and so cannot have been acknowledged."""
        ...

    def write(self, data: bytes, deadline: float) -> None:
        """Write all of `data` before `deadline`, or raise TransportLost."""

    def read(self, deadline: float) -> bytes:
        """The bytes received; b"" at the end. Raises TimeoutError when none arrive before `deadline`, and BadResponse
        for an error that would recur if the pipe were dialled again."""
        ...

    def close(self) -> None:
        """Close it. Idempotent."""


class Unread(TransportLost, TimeoutError):
    """The window is full, and nothing of it was acknowledged in time."""


class Channel:
    """One connection through the tube, with the few methods of a socket that an HTTP exchange needs."""

    def __init__(self, tube: Tube, name: int) -> None:
        self._tube = tube
        self._name = name
        self._timeout = 0.0
        self.asked = True  # whether a request is in flight on it
        self.unasked = False  # whether data arrived while none was
        self.acknowledged = 0  # bytes sent that have arrived
        self.inbound = bytearray()
        self.ended = False

    @property
    def usable(self) -> bool:
        """Whether it can carry another request."""
        return not (self.ended or self.unasked or self.inbound or self._tube.broken)

    def settimeout(self, seconds: float) -> None:
        """Set how many seconds each later call may take."""
        self._timeout = seconds

    def send(self, data: bytes | memoryview) -> int:
        """Send at most one piece; returns its size. Raises OSError when the connection or its tube is gone."""
        piece = bytes(data[:PIECE])
        line = {"c": self._name, "d": base64.b64encode(piece).decode("ascii")}
        self._tube.send(self, line, len(piece), time.monotonic() + self._timeout)
        return len(piece)

    def fetch(self, head: bytes, stored: Stored) -> None:
        """Send `head`, of at most a piece, and have bytes of a file sent after it. Raises OSError as `send` does.

        In one line: two might travel in two requests to the provider, one after the other.
        """
        line: dict[str, Any] = {"c": self._name, "d": base64.b64encode(head).decode("ascii")}
        line |= {"f": stored.name, "s": stored.stored, "of": len(stored), "z": stored.packed}
        self._tube.send(self, line, len(head), time.monotonic() + self._timeout)

    def recv(self, size: int) -> bytes:
        """At most `size` bytes received; b"" at the end. Raises OSError in the same cases, or on timeout."""
        return self._tube.receive(self, size, time.monotonic() + self._timeout)

    def close(self) -> None:
        """Close both ends."""
        self._tube.drop(self._name, tell=not self.ended)


class Tube:
    """One dialled stream: numbering, acknowledgements, and a thread that reads it."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._change = threading.Condition()
        self._writing = threading.Lock()
        self._channels: dict[int, Channel] = {}
        self._names = 0
        self._sent = 0
        self._received = 0
        self._owed = 0  # bytes received that are not acknowledged
        self._owed_at = 0.0
        self._retell = False
        self._gap = False
        self._again = False
        self._bytes_out = 0
        self._unacknowledged: deque[tuple[int, int, dict[str, Any]]] = deque()
        self._oldest_at = 0.0
        self._resend_after, self._round_trip = _RESEND_SECONDS[0], 0.0
        self._ambiguous = 0  # lines up to this number were sent twice: their acknowledgement measures nothing
        self._asked_at = 0.0
        self._resent_at = 0.0
        self._retold_at = 0.0
        self._resent = 0
        self._futile = Charge(_MAX_FUTILE)
        self._greeted = False
        self.broken = ""
        self.spoiled = False  # whether it broke because of its content
        self._reader = threading.Thread(target=self._read, name="rlm_secure-dial", daemon=True)
        self._reader.start()

    def greeted(self, deadline: float) -> None:
        """Wait for the other side's hello. Where none comes, close the stream and raise TransportLost."""
        with self._change:
            while not self._greeted and not self.broken:
                if not self._change.wait(max(deadline - time.monotonic(), 0)):
                    self.broken = "nobody answered in there"
        if self.broken:
            self.close()
            raise TransportLost(f"the sandbox could not be dialled: {self.broken}")

    def channel(self) -> Channel:
        """A new connection; it opens with the first bytes that are sent."""
        with self._change:
            self._names += 1
            channel = self._channels[self._names] = Channel(self, self._names)
            return channel

    def send(self, channel: Channel, line: dict[str, Any], size: int, deadline: float) -> None:
        """Send a line of a connection, once the window has room for its `size` bytes."""
        with self._change:
            while self._bytes_out + size > WINDOW and not self.broken and not channel.ended:
                if not self._change.wait(max(deadline - time.monotonic(), 0)):
                    raise Unread("the sandbox does not read")
            if self.broken or channel.ended:
                raise BrokenPipeError(self.broken or "the connection was closed")
        self._put(line, size, deadline)

    def receive(self, channel: Channel, size: int, deadline: float) -> bytes:
        """Bytes of a connection, once some arrive."""
        with self._change:
            while not channel.inbound and not channel.ended and not self.broken:
                if not self._change.wait(max(deadline - time.monotonic(), 0)):
                    raise TimeoutError("nothing came")
            if self.broken and not channel.inbound:
                raise BrokenPipeError(self.broken)
            data = bytes(channel.inbound[:size])
            del channel.inbound[:size]
            return data

    def drop(self, name: int, *, tell: bool) -> None:
        """Forget a connection; `tell` has it closed in the sandbox."""
        with self._change:
            if self._channels.pop(name, None) is None or not tell or self.broken:
                return
        with contextlib.suppress(TransportLost):
            self._put({"c": name, "end": True}, 0, time.monotonic() + 1.0)

    def close(self) -> None:
        """Send `bye` and close. Idempotent."""
        if not self.broken:
            with contextlib.suppress(TransportLost):
                self._put({"bye": True}, None, time.monotonic() + 1.0)
        self._break("it was closed")
        self._pipe.close()

    # -- lines ------------------------------------------------------------------------------------

    def _put(self, line: dict[str, Any], size: int | None, deadline: float) -> None:
        """Write a line; one that carries `size` bytes gets the next number, and is kept until acknowledged."""
        if not self._writing.acquire(timeout=left(deadline)):  # numbers are assigned in the order of writing
            raise TransportLost("the sandbox does not read")
        try:
            with self._change:
                if size is not None:
                    self._sent += 1
                    line = {"n": self._sent, **line}
                    if not self._unacknowledged:
                        self._oldest_at = time.monotonic()
                    self._unacknowledged.append((self._sent, size, line))
                    self._bytes_out += size
                self._owed = 0
                self._retell = False
                data = json.dumps({"a": self._received, **line}, separators=(",", ":")).encode("ascii") + b"\n"
            try:
                self._pipe.write(data, deadline)
            except TransportLost as lost:
                self._break(str(lost))
                raise
        finally:
            self._writing.release()

    def _break(self, why: str) -> None:
        with self._change:
            self.broken = self.broken or why
            self._change.notify_all()

    def _read(self) -> None:
        lines = Lines()
        try:
            while not self.broken:
                data = b""
                with contextlib.suppress(TimeoutError):
                    data = self._pipe.read(self._next_look())
                    if not data:
                        raise TransportLost("the stream ended")
                for at in range(0, len(data), PIECE):  # credit from one piece may cover the next
                    piece = data[at : at + PIECE]
                    self._futile.took(len(piece))
                    for line in lines.take(piece):
                        self._futile.took()
                        if line.startswith(b"{"):
                            self._line(line)
                self._tend()
        except (TransportLost, OSError) as error:
            self._break(str(error))
        except BadResponse as bad:
            self.spoiled = not self.broken
            self._break(str(bad))
        finally:
            self._pipe.close()  # otherwise the other side would go on writing

    def _line(self, data: bytes) -> None:
        """Process one line. Noise and duplicates change nothing, and get no credit for what was charged."""
        try:
            line = decode(data, limit=MAX_LINE)
            said = fields(line)
        except (ProtocolViolation, ValueError):
            return
        with self._change:
            self._greeted = self._greeted or "hello" in line
            if self._unacknowledged and self._unacknowledged[0][0] <= said.acknowledged:
                self._acknowledge(said.acknowledged, time.monotonic())
            if line.get("again") is True and self._unacknowledged:
                self._again = True
            if said.number is not None:
                self._numbered(said, said.number)
            self._change.notify_all()

    def _acknowledge(self, number: int, now: float) -> None:
        if self._unacknowledged[0][0] > self._ambiguous:
            took = now - self._oldest_at
            self._round_trip = (self._round_trip + took) / 2
            shortest, longest = _RESEND_SECONDS
            self._resend_after = min(max(1.25 * self._round_trip + _OWED_SECONDS, shortest), longest)
        self._oldest_at = now
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            _, size, line = self._unacknowledged.popleft()
            self._bytes_out -= size
            self._resent = max(self._resent - _RESENT_PER_BYTE * (size + EACH), 0)
            self._futile.brought(0, lines=1)
            if (channel := self._channels.get(line["c"])) is not None:
                channel.acknowledged += size

    def _numbered(self, said: Fields, number: int) -> None:
        now = time.monotonic()
        if number == self._received + 1:
            self._received += 1
            if not self._owed:
                self._owed_at = now
            self._owed += len(said.data) + EACH
            channel = self._channels.get(said.channel)
            if channel is not None:
                self._deliver(channel, said)
        elif number > self._received:
            if now - self._asked_at > _AGAIN_SECONDS:
                self._asked_at = now
                self._gap = True
        elif now - self._retold_at > _PACE_SECONDS:
            self._retold_at = now
            self._retell = True  # a duplicate: our acknowledgement was lost

    def _deliver(self, channel: Channel, said: Fields) -> None:
        channel.ended = channel.ended or said.end
        if not channel.asked:
            channel.unasked = True
            return
        channel.inbound += said.data
        if len(channel.inbound) > _MAX_INBOUND:
            raise BadResponse("the sandbox sends more than anybody asked for")
        self._futile.brought(len(said.data))

    def _next_look(self) -> float:
        """When to tend, even if nothing arrives."""
        with self._change:
            soon = time.monotonic() + _AGAIN_SECONDS
            return min(soon, self._owed_at + _OWED_SECONDS) if self._owed else soon

    def _is_late(self, now: float) -> bool:
        return bool(self._owed) and now - self._owed_at >= _OWED_SECONDS

    def _tend(self) -> None:
        """Acknowledge, request what is missing, and resend what was requested or unacknowledged for too long."""
        with self._change:
            now = time.monotonic()
            # Nothing is sent again while anything waits on this side: most of what is missing may be in there, and what
            # is asked for again would only arrive after it.
            waiting = self._writing.locked() or self._pipe.undelivered > 0
            if waiting:
                self._oldest_at = now
            overdue = bool(self._unacknowledged) and now - self._oldest_at > self._resend_after
            wanted = self._again and not waiting and now - self._resent_at > _PACE_SECONDS
            lines = [dict(line) for _, _, line in self._unacknowledged] if overdue or wanted else []
            if lines:
                self._oldest_at = self._resent_at = now
                self._resent += self._bytes_out + EACH * len(lines)
                self._ambiguous = self._sent
                if overdue:
                    self._resend_after = min(1.5 * self._resend_after, _RESEND_SECONDS[1])
            self._again = self._again and not wanted
            if self._gap:
                lines.append({"again": True})
                self._gap = False
            elif not lines and (self._retell or self._owed >= _OWED_BYTES or self._is_late(now)):
                lines = [{}]
            if self._resent > _MAX_RESENT:
                raise BadResponse(f"the sandbox had {self._resent:,} bytes sent again, and acknowledged none of them")
        for line in lines:
            self._put(line, None, time.monotonic() + _WRITE_SECONDS)
