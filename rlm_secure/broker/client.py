"""The host's side of the broker protocol, the same for every environment and transport.

Signs each request, retries it over a new connection until it is answered or its time is over, accepts only signed
answers, and passes them to the one decoder of a supervisor's answers (signed.py). A request keeps its number across
retries, so it takes effect once; it gets a new number only after `stale-id`, when it was not applied.

Guards: which answers of a broker are accepted: signed, decoded, of known types
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from rlm_secure.broker import signed
from rlm_secure.broker.protocol import decode
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Events, Started
from rlm_secure.broker.transports import (
    BadResponse,
    Body,
    Closed,
    Response,
    Several,
    Stored,
    Transport,
    TransportLost,
)
from rlm_secure.broker.transports.http1 import SLOWEST_RATE
from rlm_secure.errors import ProtocolViolation, RLMSecureError
from rlm_secure.loggers import logger

_log = logger("rlm_secure.broker")

VERSION: Final = 1
#: Bytes of one chunk of a context, in a file of the sandbox or not.
CHUNK: Final = 4 * 1024 * 1024

#: Longest wait of one long poll, and how much longer its answer may take (seconds).
_POLL_SECONDS = 20.0
_ANSWER_SECONDS = 10.0
_RETRY_SECONDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_SMALL_ANSWER = 256 * 1024
#: How often the number of refused requests is reported: so many times in a burst, then once in so many seconds.
_TELL_AT_ONCE: Final = 16
_TELL_SECONDS: Final = 10.0
#: Statuses of a provider's ingress (not the broker) that is temporarily unavailable: the request is retried.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class Lost(RLMSecureError):
    """The broker is no longer reachable. The message gives the last failure."""


class Declined(RLMSecureError):
    """The broker understood a request and refused it. `rule` is one of those in PROTOCOL.md."""

    def __init__(self, status: int, rule: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.rule = rule


class BrokerClient:
    """The client of one broker. Thread-safe: an interrupt may overtake a waiting request.

    `alive` tells whether the sandbox still exists; it is called after each failed attempt, so that the end of a
    sandbox is noticed before the deadline. `refusals` is called with the number of requests, from any sender, that the
    broker has refused, 16 times in a burst and then every ten seconds: each refusal is a sign of an attack inside.
    """

    def __init__(
        self,
        transport: Transport,
        key: SessionKey,
        *,
        frame_bytes: int,
        alive: Callable[[], bool] = lambda: True,
        refusals: Callable[[int], None] = lambda _: None,
        patience: float = 60.0,
    ) -> None:
        self._transport = transport
        self._key = key
        self._frame_bytes = frame_bytes
        self._alive = alive
        self._refusals = refusals
        self._patience = patience
        self._refused = 0
        self._said = 0  # the number last given to `refusals`
        self._tellable: float = _TELL_AT_ONCE
        self._looked = time.monotonic()
        self._lock = threading.Lock()
        self._number = 0

    @property
    def transport(self) -> Transport:
        """The transport in use."""
        return self._transport

    @property
    def refused(self) -> int:
        """How many requests the broker says that it has refused."""
        return self._refused

    def close(self) -> None:
        """Close the transport. Idempotent."""
        self._transport.close()

    # -- requests ---------------------------------------------------------------------------------

    def health(self, *, seconds: float) -> None:
        """Check that the broker answers, and update `refused`."""
        self._request("GET", "/health", seconds=seconds)

    def start(self, limits: Mapping[str, Any], profile: str, *, seconds: float) -> Started:
        """Start a worker. Its `ready` frame is its first event."""
        body = {"limits": dict(limits), "profile": profile, "frame_bytes": self._frame_bytes}
        return signed.started(self._request("POST", "/session", _encode(body), seconds=seconds, patience=seconds))

    def end(self, *, seconds: float, fresh: bool = False, exit_broker: bool = False) -> None:
        """End the worker; `fresh` also deletes its contexts and unanswered calls, `exit_broker` ends the supervisor."""
        asked = [f"{name}=1" for name, wanted in (("fresh", fresh), ("exit", exit_broker)) if wanted]
        self._request("DELETE", "?".join(["/session", *(["&".join(asked)] if asked else [])]), seconds=seconds)

    def execute(
        self,
        frame: Mapping[str, Any],
        *,
        wait: float,
        seconds: float | None = None,
        cpu: float | None = None,
        upload: int | None = None,
    ) -> Events:
        """Send a frame to the worker, and wait up to `wait` seconds for events; all of it takes at most `seconds`."""
        target = f"/execute?{_query(wait=wait, cpu=cpu, upload=upload)}"
        return self._events("POST", target, _encode(frame), wait, seconds)

    def respond(self, name: str, response: Mapping[str, Any], *, wait: float, seconds: float | None = None) -> Events:
        """Answer a call, and wait up to `wait` seconds for events; all of it takes at most `seconds`."""
        body = _encode({"id": name, "response": response})
        return self._events("POST", f"/respond?{_query(wait=wait)}", body, wait, seconds)

    def pending(self, *, wait: float, seconds: float | None = None) -> Events:
        """Wait up to `wait` seconds for events; all of it takes at most `seconds`."""
        return self._events("GET", f"/pending?{_query(wait=wait)}", b"", wait, seconds)

    def interrupt(self, grace: float, *, seconds: float) -> None:
        """Interrupt the worker by signal, and have it killed after `grace` seconds."""
        self._request("POST", "/interrupt", _encode({"grace_seconds": grace}), seconds=seconds)

    def upload(
        self, number: int, data: memoryview, *, seconds: float, stored: Iterator[Stored | None] | None = None
    ) -> None:
        """Upload a context in chunks. The bytes are never copied as a whole, and hashed once.

        It takes at most `seconds` and what its bytes take at the slowest rate. `stored` gives each chunk that
        is in a file of the sandbox already, or None where it could not be put there.
        """
        deadline = time.monotonic() + seconds + data.nbytes / SLOWEST_RATE
        chunks = _Chunks(number, data)
        if stored is not None:
            self._upload_stored(chunks, stored, deadline)
        del stored  # what is still being put there is cancelled
        while not chunks.done:
            self._put(chunks.take(CHUNK), deadline)

    def _upload_stored(self, chunks: _Chunks, stored: Iterator[Stored | None], deadline: float) -> None:
        """Upload the chunks that are in files, as long as they are put there and taken from there.

        Not every answer is waited for: each takes as long as the sandbox is far. What is not answered, because a
        connection ended, is sent again.
        """
        unanswered: deque[_Chunk] = deque()
        there = next(stored, None)
        while there is not None:
            try:
                with self._transport.exchanges(deadline=deadline, patience=_ANSWER_SECONDS) as several:
                    while there is not None:
                        behind = there.behind
                        unanswered.append(chunks.take(len(there), there))
                        there = None
                        self._send(several, unanswered[-1])
                        while len(unanswered) > behind:
                            self._answered(several, unanswered)
                        there = next(stored, None)
                    while unanswered:
                        self._answered(several, unanswered)
            except TransportLost:
                if there is not None:  # not even a connection: what it waits for, and how long, is said below
                    unanswered.append(chunks.take(len(there), there))
                refused = self._put_again(unanswered, deadline)
                unanswered.clear()
                there = None if refused else next(stored, None)
            except BadResponse as bad:
                raise ProtocolViolation(f"the broker broke the protocol: {bad}") from None

    def _send(self, several: Several, chunk: _Chunk) -> None:
        chunk.number = self._next()
        headers = self._key.headers(chunk.number, "PUT", chunk.target, chunk.digest)
        several.send("PUT", chunk.target, headers, chunk.body)

    def _answered(self, several: Several, unanswered: deque[_Chunk]) -> None:
        """Accept the answer to the first of these. Raises TransportLost where it says that it is to be sent again."""
        chunk = unanswered[0]
        answer = several.answer(_SMALL_ANSWER)
        message = self._believe(answer, chunk.number, "PUT", chunk.target)
        if message is None or self._is_stale(message, answer.status):
            raise TransportLost("it was not applied")
        self._accept(message, answer.status, "PUT", chunk.target)
        chunk.check(message)
        unanswered.popleft()

    def _put_again(self, unanswered: Iterable[_Chunk], deadline: float) -> bool:
        """Send again what did not arrive. Whether the sandbox did not take a file, and got its bytes instead."""
        chunks = list(unanswered)
        arrived, refused = 0, ""
        for chunk in chunks:
            if chunk.end > arrived:
                arrived = self._put(chunk, deadline, most=chunks[-1].end)
                refused = refused or (chunk.body.refused if isinstance(chunk.body, Stored) else "")
        if refused:
            _log.warning("a context comes over the stream: the sandbox did not take its file (%s)", refused)
        return bool(refused)

    def _put(self, chunk: _Chunk, deadline: float, *, most: int = 0) -> int:
        """Send a chunk until it is answered, and return how many bytes of the context have arrived."""
        left = max(deadline - time.monotonic(), 0.01)
        return chunk.check(self._request("PUT", chunk.target, chunk.body, seconds=left, digest=chunk.digest), most)

    def drop(self, number: int, *, seconds: float) -> None:
        """Delete a context."""
        self._request("DELETE", f"/context/{number}", seconds=seconds)

    # -- sending ----------------------------------------------------------------------------------

    def _events(self, method: str, target: str, body: bytes, wait: float, seconds: float | None) -> Events:
        # A frame is sent as a JSON string, in which each of its characters takes at most two bytes.
        limit = 2 * self._frame_bytes + _SMALL_ANSWER
        longest = wait + self._patience
        seconds = longest if seconds is None else seconds
        answer = self._request(method, target, body, limit=limit, seconds=seconds, silence=longest, wait=wait)
        return signed.events(answer)

    def _request(
        self,
        method: str,
        target: str,
        body: Body = b"",
        *,
        seconds: float,
        silence: float = math.inf,
        limit: int = _SMALL_ANSWER,
        wait: float = 0.0,
        patience: float = _ANSWER_SECONDS,
        digest: str | None = None,
    ) -> dict[str, Any]:
        """Send a request until it is answered. Raises Lost, Declined or ProtocolViolation.

        The broker answers after at most `wait` seconds; each attempt may take `patience` seconds more, and what its
        bytes take. After `silence` seconds no attempt begins, or waits for progress; after `seconds` everything ends.
        """
        started = time.monotonic()
        deadline, give_up = started + seconds, started + min(silence, seconds)
        if digest is None:
            assert not isinstance(body, Stored)
            digest = hashlib.sha256(body).hexdigest()
        number = self._next()
        attempt = 0
        said = "it was never reached"
        while True:
            now = time.monotonic()
            if now >= give_up or (attempt and not self._alive()):
                raise Lost(f"the broker does not answer ({said})")
            try:
                answer = self._transport.request(
                    method,
                    target,
                    self._key.headers(number, method, target, digest),
                    body,
                    limit=limit,
                    deadline=deadline,
                    patience=min(wait + patience, give_up - now),
                )
            except TransportLost as lost:
                said = str(lost)
                if isinstance(body, Stored) and isinstance(lost, Closed):
                    body.refused = said
                    body = body.data
            except BadResponse as bad:
                raise ProtocolViolation(f"the broker broke the protocol: {bad}") from None
            else:
                message = self._believe(answer, number, method, target)
                if message is None:
                    said = f"its ingress answers {answer.status}"
                elif self._is_stale(message, answer.status) and attempt < len(_RETRY_SECONDS):
                    number = self._next()  # another thread's request overtook this one, which was not applied
                else:
                    self._accept(message, answer.status, method, target)
                    return message
            pause = _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)] * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries
            time.sleep(max(min(pause, give_up - time.monotonic()), 0.0))
            attempt += 1

    def _is_stale(self, message: Mapping[str, Any], status: int) -> bool:
        return status != 200 and signed.refusal(message).rule == "stale-id"

    def _accept(self, message: Mapping[str, Any], status: int, method: str, target: str) -> None:
        """Raises Declined for a refusal."""
        if status != 200:
            refusal = signed.refusal(message)
            asked = f"{method} {target.partition('?')[0]}"
            raise Declined(status, refusal.rule, f"the broker refused {asked}: {refusal.text}")
        self._count(message)

    def _believe(self, answer: Response, number: int, method: str, target: str) -> dict[str, Any] | None:
        """The message in a signed answer; None where the ingress is temporarily unavailable."""
        mac = answer.headers.get("rlm-mac", "")
        if self._key.verifies(mac, number, method, target, answer.status, answer.body):
            return decode(answer.body, limit=len(answer.body))
        if 300 <= answer.status < 400:
            raise ProtocolViolation(f"the broker answered with a redirect ({answer.status}); it was not followed")
        if answer.status in _PASSING:
            return None
        if not self._alive():
            raise Lost(f"its ingress answers {answer.status}, and the sandbox is gone")
        raise ProtocolViolation(f"an answer (status {answer.status}) is not signed with the session's key")

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return self._number

    def _count(self, message: Mapping[str, Any]) -> None:
        refused = signed.refused(message)
        self._refused = max(refused, self._refused)
        # Each answer may raise the number, so reports are limited; a later report includes what is not reported here.
        now = time.monotonic()
        self._tellable = min(self._tellable + (now - self._looked) / _TELL_SECONDS, _TELL_AT_ONCE)
        self._looked = now
        if self._refused > self._said and self._tellable >= 1:
            self._tellable -= 1
            self._said = self._refused
            self._refusals(self._refused)


class _Chunk:
    """A part of a context, and the request that carries it: its bytes up to `end`, in a file of the sandbox or not."""

    def __init__(self, target: str, digest: str, body: memoryview | Stored, end: int) -> None:
        self.target = target
        self.digest = digest
        self.body = body
        self.end = end
        self.number = 0

    def check(self, answer: Mapping[str, Any], most: int = 0) -> int:
        """How many bytes of the context the broker has: with this chunk, and maybe with others up to `most`.

        Raises ProtocolViolation for any other number.
        """
        received = signed.received(answer)
        if not self.end <= received <= max(most, self.end):
            raise ProtocolViolation("the broker broke the protocol: it lost a part of a context")
        return received


class _Chunks:
    """The chunks of the context `number`, in order. The last one carries the hash of all hashes."""

    def __init__(self, number: int, data: memoryview) -> None:
        self._number = number
        self._data = data
        self._whole = hashlib.sha256()
        self._offset = 0
        self.done = False

    def take(self, size: int, stored: Stored | None = None) -> _Chunk:
        """The next one, of `size` bytes where there are so many left; `stored` are its bytes in a file."""
        total = self._data.nbytes
        chunk = self._data[self._offset : self._offset + size]
        digest = hashlib.sha256(chunk)
        self._whole.update(digest.digest())
        target = f"/context/{self._number}?offset={self._offset}&total={total}"
        self._offset += chunk.nbytes
        self.done = self._offset == total
        if self.done:
            target += f"&sha256={self._whole.hexdigest()}"
        return _Chunk(target, digest.hexdigest(), chunk if stored is None else stored, self._offset)


def _encode(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def _query(**fields: float | None) -> str:
    return "&".join(
        f"{name}={value if isinstance(value, int) else f'{value:.3f}'}"
        for name, value in fields.items()
        if value is not None
    )
