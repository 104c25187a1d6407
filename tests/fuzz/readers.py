"""Every reader of foreign bytes that is fuzzed, as one function: pieces of bytes in, what they meant out.

The only file here that knows how a reader is called. Each function returns what was understood and how it ended, in
plain values that compare, or raises what no caller of that reader catches: that is a finding.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rlm_secure.broker import protocol
from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import BadResponse, Response, Transport, TransportLost
from rlm_secure.broker.transports.http1 import exchange
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.compat.core import comms_utils as comms
from rlm_secure.environments.deadline import Deadline
from rlm_secure.environments.docker.stream import ExecStream
from rlm_secure.environments.local.worker import Died, Worker
from rlm_secure.errors import ProtocolViolation
from rlm_secure.guest import wire
from rlm_secure.guest.supervisor import dial, http, worker_link, zygote_link
from rlm_secure.policy import Policy
from rlm_secure.rlm.answers import AnswerSchema
from rlm_secure.tagged import tag

KEY = bytes(range(32))
#: Bytes that a frame, a body, and a cell's output may have here: small, so that limits are met often.
FRAME, BODY, OUTPUT, VALUE = 256 * 1024, 64 * 1024, 4096, 512
Pieces = Sequence[bytes]


class Peer:
    """A connected socket whose other end has sent these pieces, and then closed; it takes whatever it is sent."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = [each for each in pieces if each]
        self._at = 0
        self.sent = bytearray()

    def settimeout(self, _seconds: float) -> None:
        """Nothing here takes time."""

    def send(self, data: bytes | memoryview) -> int:
        """Take all of it."""
        self.sent += data
        return len(data)

    def recv(self, size: int, _flags: int = 0) -> bytes:
        """The rest of the next piece, at most `size` of it."""
        if self._at == len(self._pieces):
            return b""
        piece = self._pieces[self._at]
        if len(piece) <= size:
            self._at += 1
            return piece
        self._pieces[self._at] = piece[size:]
        return piece[:size]

    def recv_into(self, buffer: memoryview) -> int:
        """As recv."""
        data = self.recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def recvmsg(self, size: int, _ancillary: int) -> tuple[bytes, list[Any], int, None]:
        """As recv, without descriptors."""
        return self.recv(size), [], 0, None


# -- HTTP ----------------------------------------------------------------------------------------


def guest_http(pieces: Pieces) -> tuple[list[Any], str]:
    """Requests as a supervisor reads them, as `(method, target, number, body)`; and how it ended."""
    peer = Peer(pieces)
    reader = http.Reader(KEY, lambda _method, _path: BODY)
    requests: list[Any] = []
    try:
        while reader.receive(peer):  # type: ignore[arg-type]
            while (request := reader.next()) is not None:
                query = tuple(sorted(request.query.items()))
                requests.append((request.method, request.target, query, request.number, bytes(request.body)))
    except http.HttpError as bad:
        assert bad.status in http.REASONS, f"{bad.status} has no reason"
        assert http.unsigned_answer(bad.status, str(bad).encode("ascii"))
        return requests, "refused"
    return requests, "partial" if reader.partial else "ended"


def host_http(pieces: Pieces) -> tuple[Any, str]:
    """An answer as the host reads it, as `(status, headers, body)`; and how it ended."""
    peer = Peer(pieces)
    try:
        answer, keep = exchange(peer, "GET", "/health", {}, b"", limit=BODY, deadline=time.monotonic() + 60)
    except TransportLost:
        return None, "cut"
    except BadResponse as bad:
        _printable(str(bad))
        return None, "bad"
    assert len(answer.body) <= BODY, f"a body of {len(answer.body)} bytes passed a limit of {BODY}"
    assert 200 <= answer.status <= 599
    assert type(keep) is bool  # bytes behind an answer may come later: that they are not there says nothing
    return (answer.status, dict(answer.headers), answer.body), "answered"


def request_of_host(number: int, method: str, target: str, body: bytes) -> bytes:
    """The bytes of a request as the host sends it, signed."""
    peer = Peer([])
    headers = SessionKey(KEY).headers(number, method, target, _digest(body))
    with contextlib.suppress(TransportLost):
        exchange(peer, method, target, headers, body, limit=BODY, deadline=time.monotonic() + 60)
    return bytes(peer.sent)


def answer_of_guest(number: int, method: str, target: str, status: int, body: bytes) -> bytes:
    """The bytes of an answer as a supervisor sends it, signed."""
    request = http.SignedRequest(method, target, number, _digest(b""), "", 0)
    return http.answer(KEY, request, status, body)


def _digest(body: bytes) -> str:
    import hashlib

    return hashlib.sha256(body).hexdigest()


# -- lines ---------------------------------------------------------------------------------------


class Pipe:
    """A dialled stream: says hello, and once it was written to, these pieces; then it ends."""

    undelivered = 0

    def __init__(self, pieces: Pieces) -> None:
        self._peer = Peer(pieces)
        self._spoken_to = threading.Event()
        self._greeted = False
        self.taken = 0

    def write(self, data: bytes, _deadline: float) -> None:
        """Take all of it."""
        self.taken += len(data)
        self._spoken_to.set()

    def read(self, deadline: float) -> bytes:
        """The next piece."""
        if not self._greeted:
            self._greeted = True
            return b'{"hello":1}\n'
        if not self._spoken_to.wait(max(deadline - time.monotonic(), 0)):
            raise TimeoutError
        return self._peer.recv(1 << 18)

    def close(self) -> None:
        """Nobody waits for anything."""
        self._spoken_to.set()


def host_lines(pieces: Pieces) -> tuple[Any, str]:
    """An answer that came through a dialled stream, as the host reads it; and how it ended."""
    pipe = Pipe(pieces)
    transport = StdioTransport(lambda _: pipe)
    before = pipe.taken
    try:
        answer = transport.request("GET", "/health", {}, b"", limit=BODY, deadline=time.monotonic() + 20)
        found: tuple[Any, str] = (answer.status, dict(answer.headers), answer.body), "answered"
    except (TransportLost, BadResponse):
        found = None, "lost"
    finally:
        transport.close()
    allowed = 64 * 1024 + 8 * sum(map(len, pieces))
    assert pipe.taken - before <= allowed, f"{pipe.taken - before} bytes were sent for {sum(map(len, pieces))} received"
    return found


@cache
def _listener() -> tuple[socket.socket, str]:
    directory = tempfile.mkdtemp(prefix="rlm-secure-fuzz-")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{directory}/socket")
    listener.listen(64)
    listener.setblocking(False)
    return listener, directory


def forget_listener() -> None:
    """Remove what `guest_lines` listens on."""
    if _listener.cache_info().currsize:
        listener, directory = _listener()
        listener.close()
        Path(directory, "socket").unlink(missing_ok=True)
        Path(directory).rmdir()
        _listener.cache_clear()


def guest_lines(pieces: Pieces) -> tuple[Any, str]:
    """What `dial` gives to its supervisor, one entry a connection; and whether it goes on."""
    listener, directory = _listener()
    given: list[bytes] = []
    source, feed = os.pipe()
    sink = os.open(os.devnull, os.O_WRONLY)
    accepted: list[socket.socket] = []
    try:
        dialled = dial.Dial(f"{directory}/socket", source, sink)
        for piece in _at_most(pieces, 60_000):  # what an empty pipe takes
            if not dialled._running:
                break
            os.write(feed, piece)
            known = len(dialled._connections)
            dialled._read_lines()
            accepted += _accepted(listener) if len(dialled._connections) != known else ()
            assert len(dialled._inbound) <= dial.MAX_LINE + 60_000
        outbound = len(dialled._outbound)
        assert outbound <= 4096 + 8 * sum(map(len, pieces)), f"{outbound} bytes for {sum(map(len, pieces))}"
        for connection in list(dialled._connections.values()):
            connection.close()
        accepted += _accepted(listener)
        for each in accepted:
            given.append(b"".join(iter(lambda each=each: each.recv(1 << 18), b"")))  # type: ignore[misc]
        return given, "running" if dialled._running else "over"
    finally:
        for each in (*accepted, *_accepted(listener)):
            each.close()
        for fd in (source, feed, sink):
            os.close(fd)


def _accepted(listener: socket.socket) -> Iterator[socket.socket]:
    with contextlib.suppress(BlockingIOError):
        while True:
            yield listener.accept()[0]


def _at_most(pieces: Pieces, size: int) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), size):
            yield piece[at : at + size]


# -- frames --------------------------------------------------------------------------------------


def guest_frames(pieces: Pieces) -> tuple[list[Any], str]:
    """What a worker is told."""
    channel = wire.FrameChannel(Peer(pieces))  # type: ignore[arg-type]
    told: list[Any] = []
    try:
        while True:
            told.append(channel.receive())
    except wire.Closed:
        return told, "closed"


def supervisor_frames(pieces: Pieces) -> tuple[list[Any], str]:
    """What a worker says, as its supervisor passes it on."""
    worker = object.__new__(worker_link.WorkerLink)  # without a process
    worker.socket = Peer(pieces)  # type: ignore[assignment]
    worker.closed = False
    worker._inbound = bytearray()
    worker._frame_bytes = FRAME
    said: list[Any] = []
    try:
        while (frame := worker.frame()) is not None or not worker.closed:
            if frame is not None:  # otherwise more has come than is read at once
                assert len(frame) <= FRAME
                said.append(frame)
    except zygote_link.LinkError as failed:
        _printable(str(failed))
        return said, "failed"
    return said, "closed"


def host_frames(pieces: Pieces) -> tuple[list[Any], str]:
    """What a worker says, as the host of a local session reads it: every frame, decoded and judged."""
    worker = _worker(pieces)
    said: list[Any] = []
    try:
        while True:
            said.append(judged(worker.receive(Deadline(60.0), limit=FRAME)))
    except ProtocolViolation as violation:
        _printable(str(violation))
        return said, "violation"
    except Died:
        return said, "died"


def _worker(pieces: Pieces) -> Worker:
    """The host's end of a worker that has said all this and ended; its process is us."""
    ours, theirs = socket.socketpair()
    pidfd = os.pidfd_open(os.getpid())
    try:
        worker = Worker(ours, pidfd, Policy.load("strict").limits)
    finally:
        for each in (ours, theirs):
            each.close()
        os.close(pidfd)
    peer = Peer(pieces)
    peer.setsockopt = lambda *_: None  # type: ignore[attr-defined]
    worker._socket = peer  # type: ignore[assignment]
    return worker


@cache
def _bounds() -> dict[str, int]:
    given = {"value_bytes": VALUE, "stdout_bytes": OUTPUT, "result_bytes": FRAME}
    return {name: given[name] for name in inspect.signature(protocol.event).parameters if name in given}


def judged(message: dict[str, Any]) -> Any:
    """A call, a result or a `ready` frame, as plain values. Raises ProtocolViolation."""
    if message.get("op") == "ready":
        return repr(protocol.ready(message))
    event = protocol.event(message, **_bounds())
    if isinstance(event, protocol.CellResult):
        assert len(event.stdout.encode()) <= OUTPUT, f"stdout of {len(event.stdout.encode())} bytes, limit {OUTPUT}"
        assert len(event.stderr.encode()) <= OUTPUT
        assert event.cpu_seconds >= 0
        wholes = [each.whole[0] for each in (*event.variables.values(), event.value) if each and each.whole]
        json.dumps([tag(each) for each in (*wholes, event.answer and event.answer.value)])
        json.dumps([each.value for each in event.variables.values()])
    return repr(event)


def comms_frames(pieces: Pieces) -> tuple[list[Any], str]:
    """What upstream's server says."""
    peer = Peer(pieces)
    said: list[Any] = []
    try:
        while value := comms.socket_recv(peer):  # type: ignore[arg-type]
            said.append(value)
    except ProtocolViolation as violation:
        _printable(str(violation))
        return said, "violation"
    return said, "ended"


def engine_frames(pieces: Pieces) -> tuple[Any, str]:
    """Standard output of a container, as its engine frames it, in one."""
    stream = ExecStream(Peer(pieces))
    said = b""
    try:
        while data := stream.read(time.monotonic() + 60):
            said += data
    except TransportLost:
        return said, "cut"
    return said, "ended"


# -- answers -------------------------------------------------------------------------------------


def checked(schema: Any, text: str) -> Any:
    """A model's answer under a schema: the value and what is wrong with it; None where the schema is refused."""
    try:
        wanted = AnswerSchema(schema)
    except ValueError:
        return None
    value, problem = wanted.read(text)
    assert problem is None or value is None
    json.dumps(value, allow_nan=False)
    return value, None if problem is None else _encodes(problem)


class _Signed(Transport):
    """Answers every request with the same message, signed as its supervisor would."""

    name = "signed"

    def __init__(self, status: int, body: bytes) -> None:
        self._status = status
        self._body = body

    def request(self, method: str, target: str, headers: Any, body: Any, **_: Any) -> Response:
        """See Transport.request."""
        number = headers["Rlm-Id"]
        mac = http.answer_mac(KEY, number, method, target, self._status, _digest(self._body))
        return Response(self._status, {"rlm-mac": mac, "rlm-id": number}, self._body)

    def close(self) -> None:
        """Nothing to let go of."""


def signed(status: int, body: bytes) -> list[str]:
    """What the host makes of one signed message, as the answer to each thing that it asks of a supervisor."""
    found = []
    with memoryview(b"context") as data:
        for ask in (
            lambda client: client.health(seconds=1),
            lambda client: client.start({}, "strict", seconds=1),
            lambda client: client.execute({"op": "exec", "code": "1"}, wait=0.0),
            lambda client: client.respond("1", {"value": 1}, wait=0.0),
            lambda client: client.pending(wait=0.0),
            lambda client: client.interrupt(1.0, seconds=1),
            lambda client: client.upload(1, data, seconds=1),
            lambda client: client.drop(1, seconds=1),
            lambda client: client.end(seconds=1),
        ):
            client = BrokerClient(
                _Signed(status, body), SessionKey(KEY), frame_bytes=FRAME, patience=0.1, alive=lambda: False
            )
            try:
                said = repr(ask(client))
            except (ProtocolViolation, Declined, Lost) as refused:
                _printable(str(refused))
                said = type(refused).__name__
            found.append(_encodes(said))
    return found


def _printable(text: str) -> None:
    assert text.isprintable(), f"an error's text does not print: {ascii(text[:200])}"


def _encodes(text: str) -> str:
    text.encode("utf-8")
    return text
