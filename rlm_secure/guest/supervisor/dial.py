"""`dial SOCKET`: connections to the supervisor, carried over standard input and output.

One JSON object per line: {"n": 5, "a": 3, "c": 1, "d": "<base64>"} is the 5th line of its direction, says that
3 lines came the other way, and carries bytes of connection 1; "end": true closes the connection. {"a": 3} only
acknowledges, {"a": 3, "again": true} asks for everything after 3, {"bye": true} ends it all where a stream
has no end. A first line of a connection opens it. Lines may be lost, doubled or mixed with a shell's noise:
what arrives is what was sent, in order, once, or nothing does.

It knows no key and trusts neither side: what passes is signed, and all that waits here is bounded.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import socket
import sys
import time
from collections import deque
from typing import Any

from .. import wire

VERSION = 1
#: Bytes of a line that carries `PIECE` bytes, with room to spare; a longer one is noise.
MAX_LINE = 96 * 1024
PIECE = 48 * 1024
#: Bytes that may be under way in one direction before the other side acknowledges.
WINDOW = 2 * 1024 * 1024
MAX_CONNECTIONS = 16

_AGAIN_SECONDS = 0.5
#: Shortest time between two times that the same lines are sent, and between two answers to lines that came twice.
_PACE_SECONDS = 0.25
_RESEND_SECONDS = 2.0
_GONE = 3  # times that the supervisor may be missing before there is nothing to dial


class Sequencer:
    """One side's numbering: what was sent and not acknowledged, what was received, what to say next."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.bytes_out = 0
        self._told = 0
        self._asked_at = 0.0
        self._resent_at = 0.0
        self._retold_at = 0.0
        self._unacknowledged: deque[tuple[int, int, dict[str, Any], float]] = deque()

    def line(self, fields: dict[str, Any], size: int) -> dict[str, Any]:
        """`fields` as the next line, which carries `size` bytes."""
        self.sent += 1
        line = {"n": self.sent, **fields}
        self._unacknowledged.append((self.sent, size, line, time.monotonic()))
        self.bytes_out += size
        return line

    def acknowledged(self, number: int) -> None:
        """The other side has everything up to `number`."""
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            self.bytes_out -= self._unacknowledged.popleft()[1]

    def accept(self, number: int) -> bool:
        """Whether the line `number` is the next one; a double or a line after a gap is not."""
        if number != self.received + 1:
            return False
        self.received += 1
        return True

    def gap(self, number: int, now: float) -> bool:
        """Whether to ask for what is missing before `number`; not more often than the lines need to come."""
        if number <= self.received + 1 or now - self._asked_at < _AGAIN_SECONDS:
            return False
        self._asked_at = now
        return True

    def duplicate(self, number: int, now: float) -> bool:
        """Whether to say again what was received: `number` came twice, so that our acknowledgement was lost."""
        if number > self.received or now - self._retold_at < _PACE_SECONDS:
            return False
        self._retold_at = now
        return True

    def owes_acknowledgement(self) -> bool:
        """Whether the other side does not know yet what was received."""
        return self._told != self.received

    def stamp(self, line: dict[str, Any]) -> dict[str, Any]:
        """The line with the present acknowledgement."""
        self._told = self.received
        return {"a": self.received, **line}

    def overdue(self, now: float) -> list[dict[str, Any]]:
        """All lines again, when the oldest has waited too long."""
        if not self._unacknowledged or now - self._unacknowledged[0][3] < _RESEND_SECONDS:
            return []
        return self.again(now)

    def again(self, now: float) -> list[dict[str, Any]]:
        """All lines that were not acknowledged; none where they have just been sent."""
        if now - self._resent_at < _PACE_SECONDS:
            return []
        self._resent_at = now
        lines = [line for _, _, line, _ in self._unacknowledged]
        self._unacknowledged = deque((number, size, line, now) for number, size, line, _ in self._unacknowledged)
        return lines


def main(path: str) -> None:
    """Carry until standard input ends, somebody says bye, or there is no supervisor."""
    with contextlib.suppress(OSError):  # nobody listens yet, or this root may become nobody else
        path = _as_its_owner(path)
    Dial(path, 0, 1).serve()


def _as_its_owner(path: str) -> str:
    """Root becomes who listens at `path`, and gives up the rest; returns the path as that one walks it.

    So that whoever takes a supervisor over finds nothing better at the other end of its connections. Raises OSError.
    """
    owner = os.stat(path).st_uid
    if os.getuid() != 0 or owner == 0:
        return path
    from ..kernel import seal

    directory, name = os.path.split(path)
    os.chdir(directory)  # in root's own, say, where nobody else walks to
    with contextlib.suppress(OSError):  # without the capability for it, the set is what it is
        seal.empty_bounding_set()
    try:
        seal.become(owner)
    finally:
        seal.drop_capabilities()
        seal.no_new_privs()
    return name


class Dial:
    """The guest's end: lines on two descriptors, connections to a Unix socket."""

    def __init__(self, path: str, source: int, sink: int) -> None:
        self._path = path
        self._source = source
        self._sink = sink
        self._sequencer = Sequencer()
        self._inbound = bytearray()
        self._outbound = bytearray()
        self._connections: dict[int, socket.socket] = {}
        self._waiting: dict[int, bytearray] = {}
        self._misses = 0
        self._running = True
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    def serve(self) -> None:
        """Run until there is no use any more."""
        self._put({"hello": VERSION})
        while self._running:
            poll = select.poll()
            poll.register(self._source, select.POLLIN)
            if self._outbound:
                poll.register(self._sink, select.POLLOUT)
            room = self._sequencer.bytes_out < WINDOW and len(self._outbound) < WINDOW
            for name, connection in self._connections.items():
                wanted = (select.POLLIN if room else 0) | (select.POLLOUT if self._waiting[name] else 0)
                if wanted:
                    poll.register(connection, wanted)
            ready = dict(poll.poll(_AGAIN_SECONDS * 1000))
            if self._source in ready:
                self._read_lines()
            for name, connection in list(self._connections.items()):
                events = ready.get(connection.fileno(), 0)
                if events & select.POLLOUT:
                    self._drain(name)
                if events & ~select.POLLOUT and name in self._connections:
                    self._carry(name)
            for line in self._sequencer.overdue(time.monotonic()):
                self._put(self._sequencer.stamp(line))
            if self._sequencer.owes_acknowledgement():
                self._put(self._sequencer.stamp({}))
            self._write()

    def _read_lines(self) -> None:
        try:
            data = os.read(self._source, 1 << 18)
        except BlockingIOError:
            return
        if not data:
            self._running = False
        at, looked = 0, len(self._inbound)  # up to there, no line ends
        self._inbound += data
        while self._running and (end := self._inbound.find(b"\n", max(at, looked))) >= 0:
            line = bytes(self._inbound[at:end])
            at = end + 1
            if line.startswith(b"{") and len(line) <= MAX_LINE:
                self._line(line)
        del self._inbound[:at]
        if len(self._inbound) > MAX_LINE:
            self._inbound.clear()  # noise without an end

    def _line(self, data: bytes) -> None:
        try:
            line = wire.loads(data, strict=True)
            if line.get("bye"):
                self._running = False
                return
            self._sequencer.acknowledged(_number(line.get("a", 0)))
            if line.get("again"):
                for each in self._sequencer.again(time.monotonic()):
                    self._put(self._sequencer.stamp(each))
            if "n" in line:
                self._numbered(
                    _number(line["n"]),
                    _number(line["c"]),
                    base64.b64decode(line.get("d", "")),
                    bool(line.get("end")),
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return  # damaged: its number is missing now, and is asked for

    def _numbered(self, number: int, name: int, data: bytes, end: bool) -> None:
        if not self._sequencer.accept(number):
            if self._sequencer.gap(number, time.monotonic()):
                self._put(self._sequencer.stamp({"again": True}))
            elif self._sequencer.duplicate(number, time.monotonic()):
                self._put(self._sequencer.stamp({}))
            return
        if end:
            self._close(name, tell=False)
        elif self._open(name):
            self._waiting[name] += data
            self._drain(name)

    def _open(self, name: int) -> bool:
        if name in self._connections:
            return True
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if len(self._connections) >= MAX_CONNECTIONS:
                raise OSError("too many connections")
            connection.connect(self._path)
        except OSError:
            connection.close()
            self._misses += 1
            self._running = self._misses < _GONE
            self._put(self._sequencer.stamp(self._sequencer.line({"c": name, "end": True}, 0)))
            return False
        self._misses = 0
        connection.setblocking(False)
        self._connections[name] = connection
        self._waiting[name] = bytearray()
        return True

    def _drain(self, name: int) -> None:
        connection, waiting = self._connections[name], self._waiting[name]
        try:
            while waiting:
                sent = connection.send(waiting)
                del waiting[:sent]
        except BlockingIOError:
            return
        except OSError:
            self._close(name)

    def _carry(self, name: int) -> None:
        try:
            data = self._connections[name].recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            text = base64.b64encode(data).decode("ascii")
            self._put(self._sequencer.stamp(self._sequencer.line({"c": name, "d": text}, len(data))))
        else:
            self._close(name)

    def _close(self, name: int, *, tell: bool = True) -> None:
        connection = self._connections.pop(name, None)
        if connection is not None:
            connection.close()
            del self._waiting[name]
            if tell:
                self._put(self._sequencer.stamp(self._sequencer.line({"c": name, "end": True}, 0)))
                self._running = self._running and (bool(self._connections) or self._listened())

    def _listened(self) -> bool:
        """Whether there is still somebody to dial: input may have no end that says so."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(self._path)
            except OSError:
                return False
        return True

    def _put(self, line: dict[str, Any]) -> None:
        self._outbound += json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"

    def _write(self) -> None:
        try:
            while self._outbound:
                written = os.write(self._sink, self._outbound[: 1 << 18])
                del self._outbound[:written]
        except BlockingIOError:
            return
        except OSError:
            sys.exit(0)


def _number(value: Any) -> int:
    """A number of a line or a connection. Raises TypeError for anything else."""
    if type(value) is not int:
        raise TypeError("a number is not one")
    return value
