"""The supervisor's connections: accepts or opens them, reads, answers, parks, and closes them on time.

One thread, without blocking: a slow, silent or hostile peer only affects its own connection. Every buffer has a limit,
every wait has a deadline, and only the head of a request is read from a peer without the key. Peers that have not yet
signed a request get few connections and little time, and the oldest of them is closed to make room for a new one; a
connection with signed requests is never closed for one. Any error with a peer ends its connection and nothing else.

Guards: a supervisor's connections: no peer can affect another one
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import http
from .http import HttpError, SignedRequest

MAX_CONNECTIONS = 16
#: Connections without a signed request so far. The oldest of them is closed for the next one.
MAX_UNAUTHENTICATED = 8

_HEAD_SECONDS = 10.0
_UNAUTHENTICATED_SECONDS = 5.0  # from the start of a connection to a signature, and for sending a refusal
#: The slowest rate of a signed body, which a slow network has as well.
_BODY_BYTES_A_SECOND = 32 * 1024
_SEND_SECONDS = 30.0
_IDLE_SECONDS = 3600.0
_CONNECTED = 4  # connections that are kept open to a host that listens for us
_AGAIN_SECONDS = 0.05
#: Errors that may pass: there is no descriptor or no memory at the moment.
SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN, errno.EINTR})


class Peer:
    """One connection: its buffers, its current request, and its deadline."""

    def __init__(self, connection: socket.socket, reader: http.Reader) -> None:
        connection.setblocking(False)
        self.socket = connection
        self.reader = reader
        self.outbound = bytearray()
        self.request: SignedRequest | None = None
        self.wake: float | None = None
        self.waited = False
        self.deadline = time.monotonic() + _UNAUTHENTICATED_SECONDS
        self.closing = False
        self.writing = False


class Server:
    """Calls `handle(peer, request)` for each request; it returns `(status, message)`, or None if it parked the peer.

    `limit(method, path)` is the largest body of a route. `refused` counts refusals by rule.
    """

    def __init__(
        self,
        key: bytes,
        selector: selectors.BaseSelector,
        limit: Callable[[str, str], int],
        handle: Callable[[Peer, SignedRequest], tuple[int, dict[str, Any]] | None],
    ) -> None:
        self.refused: dict[str, int] = {}
        self.last_request = time.monotonic()
        self.host_gone = False
        self._key = key
        self._selector = selector
        self._limit = limit
        self._handle = handle
        self._peers: dict[int, Peer] = {}
        self._listener: socket.socket | None = None
        self._listens_at = math.inf  # when to accept again, after a shortage
        self._connect_to: str | None = None
        self._connect_at = 0.0

    # -- coming and going -------------------------------------------------------------------------

    def listen(self, where: str | list[Any]) -> str | list[Any]:
        """Accept on a Unix socket at a path, or on a TCP `[address, port]`; return the actual address."""
        if isinstance(where, str):
            self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            before = os.umask(0o177)
            self._listener.bind(where)
            os.umask(before)
        else:
            self._listener = socket.create_server((where[0], where[1]))
            where = list(self._listener.getsockname()[:2])
        self._listener.listen(MAX_CONNECTIONS)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        return where

    def keep_connected(self, path: str) -> None:
        """Keep connections open to a host that listens at `path`. If it refuses one, the host is gone."""
        self._connect_to = path

    def tick(self, now: float) -> float:
        """Handle all deadlines that have passed; return when to call this again."""
        for peer in list(self._peers.values()):
            if peer.request is not None and peer.wake is not None and now >= peer.wake:
                peer.wake = None
                self._dispatch(peer, peer.request, woken=True)
            elif peer.request is None and now >= peer.deadline:
                self._overdue(peer)
        self._connect(now)
        if self._listener is not None and now >= self._listens_at:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
            self._listens_at = math.inf
        moments = [self._listens_at, *(peer.wake for peer in self._peers.values() if peer.wake is not None)]
        if self._connect_to is not None and len(self._peers) < _CONNECTED:
            moments.append(self._connect_at)
        return min(*moments, now + 1.0)

    def _overdue(self, peer: Peer) -> None:
        if peer.outbound or peer.closing:
            self._hang_up(peer)
        elif peer.reader.partial:
            self._reject(peer, HttpError(408, "slow", "the request took too long to arrive"))
        elif self._listener is not None:
            self._hang_up(peer)
        else:
            peer.deadline = math.inf  # it waits for its host

    def _connect(self, now: float) -> None:
        while self._connect_to is not None and len(self._peers) < _CONNECTED and now >= self._connect_at:
            connection: socket.socket | None = None
            try:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.setblocking(False)
                connection.connect(self._connect_to)
            except OSError as error:  # EAGAIN: its queue is full
                if connection is not None:
                    connection.close()
                self._connect_at = now + _AGAIN_SECONDS
                self.host_gone = error.errno not in SHORT
                return
            self._add_peer(connection)

    def _accept(self, _events: int) -> None:
        assert self._listener is not None
        unauthenticated = [each for each in self._peers.values() if not each.reader.signed]
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in SHORT and not isinstance(error, BlockingIOError):
                if unauthenticated:
                    self._hang_up(unauthenticated[0])
                self._selector.unregister(self._listener)  # otherwise the selector would report it all the time
                self._listens_at = time.monotonic() + _AGAIN_SECONDS
            return
        if len(unauthenticated) >= MAX_UNAUTHENTICATED:
            self._hang_up(unauthenticated[0])
        elif len(self._peers) >= MAX_CONNECTIONS:
            idle = [each for each in self._peers.values() if each.request is None and not each.outbound]
            resting = unauthenticated or [each for each in idle if not each.reader.partial]
            if not resting:
                connection.close()
                return
            self._hang_up(min(resting, key=lambda each: each.deadline))
        self._add_peer(connection)

    def _add_peer(self, connection: socket.socket) -> None:
        try:
            if connection.family != socket.AF_UNIX:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(connection, http.Reader(self._key, self._limit))
            self._selector.register(connection, selectors.EVENT_READ, lambda events: self._on_ready(peer, events))
        except (OSError, MemoryError):
            connection.close()
            self._connect_at = time.monotonic() + _AGAIN_SECONDS
            return
        self._peers[connection.fileno()] = peer

    @contextlib.contextmanager
    def _isolated(self, peer: Peer) -> Iterator[None]:
        """Close this peer's connection if the block raises, for example because there is no memory for its bytes."""
        try:
            yield
        except Exception:
            self.note("failed")
            self._hang_up(peer)

    def _hang_up(self, peer: Peer) -> None:
        fd = peer.socket.fileno()
        if fd >= 0 and self._peers.pop(fd, None) is not None:
            self._selector.unregister(peer.socket)
            peer.socket.close()
            peer.request = peer.wake = None
            self._connect_at = max(self._connect_at, time.monotonic() + _AGAIN_SECONDS / 10)

    # -- requests ---------------------------------------------------------------------------------

    def _on_ready(self, peer: Peer, events: int) -> None:
        with self._isolated(peer):
            self._serve(peer, events)

    def _serve(self, peer: Peer, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(peer)
        if not events & selectors.EVENT_READ or peer.socket.fileno() < 0:
            return
        begun = peer.reader.partial
        try:
            count = peer.reader.receive(peer.socket)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count or peer.request is not None or peer.closing:
            self._hang_up(peer)  # it closed, or sent more while its request waits
            return
        if not begun:
            peer.deadline = min(peer.deadline, time.monotonic() + _HEAD_SECONDS)
        self._advance(peer)

    def _advance(self, peer: Peer) -> None:
        while peer.request is None and not peer.closing and peer.socket.fileno() >= 0:
            had = peer.reader.wanted
            try:
                request = peer.reader.next()
            except HttpError as bad:
                self._reject(peer, bad)
                return
            except MemoryError:
                if peer.reader.unread is None:
                    raise
                self._answer_out_of_memory(peer, peer.reader.unread)
                self._close_after_flush(peer)
                return
            if request is None:
                if peer.reader.wanted and not had:
                    peer.deadline = time.monotonic() + _longest(peer.reader)
                return
            self.last_request = time.monotonic()
            peer.deadline = self.last_request + _IDLE_SECONDS
            peer.request = request
            self._dispatch(peer, request)

    def _dispatch(self, peer: Peer, request: SignedRequest, *, woken: bool = False) -> None:
        with self._isolated(peer):
            self._do(peer, request, woken)

    def _do(self, peer: Peer, request: SignedRequest, woken: bool) -> None:
        peer.waited = woken
        try:
            result = self._handle(peer, request)
        except HttpError as bad:
            self.note(bad.rule)
            result = bad.status, {"error": str(bad), "rule": bad.rule}
        if result is not None:
            self.answer(peer, *result)
            if woken:
                self._advance(peer)

    def park(self, peer: Peer, seconds: float | None) -> None:
        """Let the peer wait: its request is handled again after `seconds`, unless it is answered before."""
        if peer.request is not None:
            peer.request.body = bytearray()
        peer.wake = None if seconds is None else time.monotonic() + seconds

    def parked(self) -> list[Peer]:
        """The peers whose requests wait."""
        return [peer for peer in self._peers.values() if peer.request is not None]

    def answer(self, peer: Peer, status: int, message: dict[str, Any]) -> None:
        """Answer the peer's request, signed."""
        with self._isolated(peer):
            request, peer.request, peer.wake = peer.request, None, None
            if request is None:
                return
            try:
                body = json.dumps(message, separators=(",", ":")).encode("ascii")
                peer.outbound += http.answer(self._key, request, status, body)
            except MemoryError:
                self._answer_out_of_memory(peer, request)
            self._flush(peer)

    def release(self, peer: Peer, status: int, message: dict[str, Any]) -> None:
        """Answer a parked peer, and continue with what it has sent since."""
        self.answer(peer, status, message)
        with self._isolated(peer):
            self._advance(peer)

    def _answer_out_of_memory(self, peer: Peer, request: SignedRequest) -> None:
        bad = HttpError(507, "memory", "there is no memory in the sandbox for this request or its answer")
        self.note(bad.rule)
        body = json.dumps({"error": str(bad), "rule": bad.rule}).encode("ascii")
        peer.outbound += http.answer(self._key, request, bad.status, body)

    def _reject(self, peer: Peer, bad: HttpError) -> None:
        self.note(bad.rule)
        body = json.dumps({"error": str(bad), "rule": bad.rule}).encode("ascii")
        peer.outbound += http.unsigned_answer(bad.status, body)
        self._close_after_flush(peer)

    def _close_after_flush(self, peer: Peer) -> None:
        """Close the connection once its outgoing data is sent."""
        peer.closing = True
        peer.deadline = time.monotonic() + _UNAUTHENTICATED_SECONDS
        self._flush(peer)

    def note(self, rule: str) -> None:
        """Count a refusal."""
        self.refused[rule] = self.refused.get(rule, 0) + 1

    def _flush(self, peer: Peer) -> None:
        try:
            while peer.outbound:
                with memoryview(peer.outbound) as view:
                    sent = peer.socket.send(view[: 1 << 20])
                del peer.outbound[:sent]
                peer.deadline = time.monotonic() + _SEND_SECONDS
        except BlockingIOError:
            pass
        except OSError:
            self._hang_up(peer)
            return
        if not peer.outbound:
            if peer.closing:
                self._hang_up(peer)
                return
            peer.deadline = time.monotonic() + (_longest(peer.reader) if peer.reader.partial else _IDLE_SECONDS)
        if peer.writing != bool(peer.outbound):
            peer.writing = bool(peer.outbound)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.writing else 0)
            self._selector.modify(peer.socket, events, lambda happened: self._on_ready(peer, happened))


def _longest(reader: http.Reader) -> float:
    """Seconds that the rest of a request may take to arrive."""
    return _HEAD_SECONDS + reader.wanted / _BODY_BYTES_A_SECOND
