"""`dial SOCKET`: carries connections to the supervisor over standard input and output.

One JSON object per line: {"n": 5, "a": 3, "c": 1, "d": "<base64>"} is the 5th line of its direction, acknowledges
3 lines of the other direction, and carries bytes of connection 1; "end": true closes the connection. {"a": 3} only
acknowledges, {"a": 3, "again": true} asks for everything after 3, and {"bye": true} ends the program where the end of a
stream cannot be seen. {"n": 6, "a": 3, "c": 1, "f": "<name>", "s": 900, "of": 4000, "z": true} sends the connection the
4000 bytes that a file of 900 bytes holds, compressed, and removes the file (fetch.py); "d" goes before them, and later
lines after them. The first line of a connection
opens it. Lines may be lost, duplicated or mixed with output of a shell: data is delivered once, in order and unchanged,
or not at all.

It has no key and trusts neither side: the data that it carries is signed, and its buffers have limits.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import select
import socket
import sys
import time
from collections import deque
from typing import Any

from .. import wire
from .fetch import STORED, Fetch

VERSION = 1
#: Largest line: enough for one that carries `PIECE` bytes. A longer line is ignored.
MAX_LINE = 96 * 1024
PIECE = 48 * 1024
#: Bytes that may be sent in one direction before the other side acknowledges them.
WINDOW = 2 * 1024 * 1024
MAX_CONNECTIONS = 16

_AGAIN_SECONDS = 0.5
#: Bytes received, and seconds, after which they are acknowledged by a line of its own. Until then, the next line that
#: carries something does it.
_OWED_BYTES = WINDOW // 8
_OWED_SECONDS = 1.0
#: What a line costs besides its bytes.
_EACH = 64
#: Shortest time between two resends of the same lines, and between two answers to duplicate lines.
_PACE_SECONDS = 0.25
#: The shortest and the longest wait for an acknowledgement after the last one, or after everything was written. In
#: between it is what the last round trips took, a quarter more, and `_OWED_SECONDS`; after each vain wait, half more.
_RESEND_SECONDS = (2.0, 30.0)
#: Between two looks whether the supervisor still listens, while there is no connection that would end with it.
_LOOK_SECONDS = (0.5, 30.0)
_GONE = 3  # failed connections in a row after which the supervisor counts as gone


class Sequencer:
    """One side's sequence numbers: lines that were sent and not acknowledged, lines that were received."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self.bytes_out = 0
        self._owed = 0
        self._owed_at = 0.0
        self._asked_at = 0.0
        self._resent_at = 0.0
        self._retold_at = 0.0
        self._resend_after, self._round_trip = _RESEND_SECONDS[0], 0.0
        self._ambiguous = 0  # lines up to this number were sent twice: their acknowledgement measures nothing
        self._oldest_at = 0.0
        self._unacknowledged: deque[tuple[int, int, dict[str, Any]]] = deque()

    def line(self, fields: dict[str, Any], size: int) -> dict[str, Any]:
        """`fields` as the next line, which carries `size` bytes."""
        self.sent += 1
        line = {"n": self.sent, **fields}
        if not self._unacknowledged:
            self._oldest_at = time.monotonic()
        self._unacknowledged.append((self.sent, size, line))
        self.bytes_out += size
        return line

    def acknowledged(self, number: int, now: float) -> None:
        """Forget the sent lines up to `number`: the other side has received them."""
        if not self._unacknowledged or self._unacknowledged[0][0] > number:
            return
        if self._unacknowledged[0][0] > self._ambiguous:
            took = now - self._oldest_at
            self._round_trip = (self._round_trip + took) / 2
            shortest, longest = _RESEND_SECONDS
            self._resend_after = min(max(1.25 * self._round_trip + _OWED_SECONDS, shortest), longest)
        self._oldest_at = now
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            self.bytes_out -= self._unacknowledged.popleft()[1]

    def accept(self, number: int, size: int, now: float) -> bool:
        """Whether the line `number`, of `size` bytes, is the next one. A duplicate, or a line after a gap, is not."""
        if number != self.received + 1:
            return False
        self.received += 1
        if not self._owed:
            self._owed_at = now
        self._owed += size + _EACH
        return True

    def gap(self, number: int, now: float) -> bool:
        """Whether to ask for lines missing before `number`; not again until they have had time to arrive."""
        if number <= self.received + 1 or now - self._asked_at < _AGAIN_SECONDS:
            return False
        self._asked_at = now
        return True

    def duplicate(self, number: int, now: float) -> bool:
        """Whether to acknowledge again: `number` came twice, so our acknowledgement was lost."""
        if number > self.received or now - self._retold_at < _PACE_SECONDS:
            return False
        self._retold_at = now
        return True

    def acknowledges_in(self, now: float) -> float:
        """Seconds until what was received is to be acknowledged by a line of its own."""
        if not self._owed:
            return math.inf
        return 0.0 if self._owed >= _OWED_BYTES else max(self._owed_at + _OWED_SECONDS - now, 0.0)

    def stamp(self, line: dict[str, Any]) -> dict[str, Any]:
        """The line, with the current acknowledgement."""
        self._owed = 0
        return {"a": self.received, **line}

    def overdue(self, now: float, *, unwritten: bool) -> list[dict[str, Any]]:
        """All unacknowledged lines, if the oldest has waited too long since all of them were written."""
        if unwritten:
            self._oldest_at = now
        if not self._unacknowledged or now - self._oldest_at < self._resend_after:
            return []
        self._resend_after = min(1.5 * self._resend_after, _RESEND_SECONDS[1])
        return self.again(now)

    def again(self, now: float) -> list[dict[str, Any]]:
        """All unacknowledged lines; none if they have just been sent again."""
        if now - self._resent_at < _PACE_SECONDS:
            return []
        self._resent_at = self._oldest_at = now
        self._ambiguous = self.sent
        return [line for _, _, line in self._unacknowledged]


def main(path: str) -> None:
    """Carry data until standard input ends, `bye` arrives, or the supervisor is gone."""
    with contextlib.suppress(OSError):  # nobody listens yet, or this root may not change its user
        path = _as_its_owner(path)
    Dial(path, 0, 1).serve()


def _as_its_owner(path: str) -> str:
    """If we are root, become the owner of the socket at `path` and drop all capabilities; return its path as seen then.

    So an attacker who controls the supervisor gains nothing by attacking this end of its connections. Raises OSError.
    """
    owner = os.stat(path).st_uid
    if os.getuid() != 0 or owner == 0:
        return path
    from ..kernel import seal

    directory, name = os.path.split(path)
    os.chdir(directory)  # the new user may have no permission to walk there, for example below the home of root
    with contextlib.suppress(OSError):  # without the capability for it, the set cannot be changed
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
        self._asked_again = False
        self._sequencer = Sequencer()
        self._inbound = bytearray()
        self._outbound = bytearray()
        self._connections: dict[int, socket.socket] = {}
        self._outgoing: dict[int, Outgoing] = {}
        self._stored = os.path.join(os.path.dirname(path), STORED)
        self._misses = 0
        self._running = True
        self._look_at, self._look_again = math.inf, 0.0
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    def serve(self) -> None:
        """Run until input ends, `bye` arrives, or the supervisor is gone."""
        self._put({"hello": VERSION})
        while self._running:
            poll = select.poll()
            poll.register(self._source, select.POLLIN)
            if self._outbound:
                poll.register(self._sink, select.POLLOUT)
            room = self._sequencer.bytes_out < WINDOW and len(self._outbound) < WINDOW
            for name, connection in self._connections.items():
                wanted = (select.POLLIN if room else 0) | (select.POLLOUT if self._outgoing[name] else 0)
                if wanted:
                    poll.register(connection, wanted)
            pause = min(_AGAIN_SECONDS, self._sequencer.acknowledges_in(time.monotonic()))
            ready = dict(poll.poll(math.ceil(pause * 1000)))
            if self._source in ready:
                self._read_lines()
            for name, connection in list(self._connections.items()):
                events = ready.get(connection.fileno(), 0)
                if events & select.POLLOUT:
                    self._drain(name)
                if events & ~select.POLLOUT and name in self._connections:
                    self._carry(name)
            now = time.monotonic()
            # What is asked for again would only arrive after what waits here already.
            lines = self._sequencer.overdue(now, unwritten=bool(self._outbound))
            if self._asked_again and not self._outbound:
                self._asked_again = False
                lines = lines or self._sequencer.again(now)
            for line in lines:
                self._put(self._sequencer.stamp(line))
            if self._sequencer.acknowledges_in(now) <= 0:
                self._put(self._sequencer.stamp({}))
            self._write()
            self._look(now)

    def _read_lines(self) -> None:
        try:
            data = os.read(self._source, 1 << 18)
        except BlockingIOError:
            return
        if not data:
            self._running = False
        at, looked = 0, len(self._inbound)  # no line ends before `looked`
        self._inbound += data
        while self._running and (end := self._inbound.find(b"\n", max(at, looked))) >= 0:
            line = bytes(self._inbound[at:end])
            at = end + 1
            if line.startswith(b"{") and len(line) <= MAX_LINE:
                self._line(line)
        del self._inbound[:at]
        if len(self._inbound) > MAX_LINE:
            self._inbound.clear()  # no line of ours is that long

    def _line(self, data: bytes) -> None:
        try:
            line = wire.loads(data, strict=True)
            if line.get("bye"):
                self._running = False
                return
            self._sequencer.acknowledged(_number(line.get("a", 0)), time.monotonic())
            self._asked_again = self._asked_again or bool(line.get("again"))
            if "n" in line:
                self._numbered(
                    _number(line["n"]),
                    _number(line["c"]),
                    base64.b64decode(line.get("d", "")),
                    bool(line.get("end")),
                    _stored(line) if "f" in line else None,
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return  # damaged: its number is now missing, and is requested again

    def _numbered(
        self, number: int, name: int, data: bytes, end: bool, stored: tuple[str, int, int, bool] | None
    ) -> None:
        if not self._sequencer.accept(number, len(data), time.monotonic()):
            if self._sequencer.gap(number, time.monotonic()):
                self._put(self._sequencer.stamp({"again": True}))
            elif self._sequencer.duplicate(number, time.monotonic()):
                self._put(self._sequencer.stamp({}))
            return
        if end:
            self._close(name, tell=False)
        elif self._open(name):
            self._outgoing[name].add(data, stored)
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
        self._outgoing[name] = Outgoing(self._stored)
        return True

    def _drain(self, name: int) -> None:
        connection, outgoing = self._connections[name], self._outgoing[name]
        try:
            while waiting := outgoing.next():
                sent = connection.send(waiting)
                del waiting[:sent]
        except BlockingIOError:
            return
        except (OSError, ValueError):  # of a file as well: the host sends the bytes itself
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
            # Who closed it at the other end asks for its file again; otherwise the bytes come over the stream.
            self._outgoing.pop(name).close(remove=tell)
            if tell:
                self._put(self._sequencer.stamp(self._sequencer.line({"c": name, "end": True}, 0)))
                self._look_at, self._look_again = 0.0, _LOOK_SECONDS[0]

    def _look(self, now: float) -> None:
        """End if the supervisor is gone and no connection is left to show it: standard input may never end.

        More than once: an ending process closes its connections and its listener one after the other.
        """
        if self._connections or now < self._look_at:
            return
        self._running = self._running and self._listened()
        self._look_at = now + self._look_again
        self._look_again = min(2 * self._look_again, _LOOK_SECONDS[1])

    def _listened(self) -> bool:
        """Whether the supervisor still accepts connections."""
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


class Outgoing:
    """What is still to be sent over one connection, in order: bytes, and what files of `directory` hold."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._bytes = bytearray()
        self._fetch: Fetch | None = None
        self._then: deque[bytes | tuple[str, int, int, bool]] = deque()

    def __bool__(self) -> bool:
        return bool(self._bytes or self._fetch is not None or self._then)

    def add(self, data: bytes, stored: tuple[str, int, int, bool] | None) -> None:
        """Send `data` after what waits here, and then a file, if there is one."""
        if self._fetch is None and not self._then:
            self._bytes += data
        elif data:
            self._then.append(data)
        if stored is not None:
            self._then.append(stored)

    def next(self) -> bytearray:
        """What to send now; whoever has sent a part of it deletes that part. Empty: there is nothing.

        Raises OSError or ValueError for a file that is not what was announced. It is opened when its turn comes.
        """
        while not self._bytes:
            if self._fetch is not None:
                self._bytes += self._fetch.read()
                if not self._bytes:
                    self._fetch.remove()
                    self._fetch = None
            elif not self._then:
                break
            elif isinstance(each := self._then.popleft(), tuple):
                self._fetch = Fetch(self._directory, *each)
            else:
                self._bytes += each
        return self._bytes

    def close(self, *, remove: bool) -> None:
        """Close the file that is open, and remove it where nobody asks for it again."""
        if self._fetch is not None:
            (self._fetch.remove if remove else self._fetch.close)()


def _stored(line: dict[str, Any]) -> tuple[str, int, int, bool]:
    """The arguments of a Fetch, without its directory."""
    return str(line["f"]), _number(line["s"]), _number(line["of"]), bool(line["z"])


def _number(value: Any) -> int:
    """The number of a line or a connection. Raises TypeError for anything else."""
    if type(value) is not int:
        raise TypeError("a number is not one")
    return value
