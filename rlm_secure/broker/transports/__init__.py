"""Transports: each carries HTTP requests to a broker, and the answers back. A transport has no key.

Three exist: `uds` (a Unix socket that the host listens on), `https` (a provider's ingress) and `stdio` (the
stream of an exec, through `dial` in the guest). All limit every read in bytes and seconds.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol


class TransportLost(Exception):
    """A request or its answer was lost; the same request may be sent again."""


class Closed(TransportLost):
    """The other side closed the connection instead of answering."""


class BadResponse(Exception):
    """The bytes received are not an answer, or are over the limit. The message says what they were."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer. Header names are in lower case. Nothing in it is authenticated yet."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stored:
    """A request's body that is in a file of the sandbox already, and the same bytes here.

    `name` is the file, `stored` its size, `packed` whether it is compressed (zlib). The supervisor checks the bytes
    against the signed digest, wherever they come from. `refused` says why the sandbox did not take them from there.
    `behind` is how many other files may be there meanwhile whose requests are not answered.
    """

    def __init__(self, name: str, stored: int, data: memoryview, *, packed: bool) -> None:
        self.name = name
        self.stored = stored
        self.data = data
        self.packed = packed
        self.behind = 0
        self.refused = ""

    def __len__(self) -> int:
        return self.data.nbytes


Body = bytes | memoryview | Stored


class Several(Protocol):
    """Requests over one connection, of which several may be on their way. Both methods raise as Transport.request."""

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> None:
        """Send a request; only StdioTransport takes a Stored body."""

    def answer(self, limit: int) -> Response:
        """The answer, of at most `limit` bytes, to the first request that has none yet."""
        ...


class Transport(ABC):
    """Carries requests to one broker. Thread-safe: several threads may have requests in flight."""

    name: str

    @abstractmethod
    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Body,
        *,
        limit: int,
        deadline: float,
        patience: float = math.inf,
    ) -> Response:
        """Send one request and read its answer, of at most `limit` bytes, until `deadline` (time.monotonic()).

        After `patience` seconds without progress it is lost, and in any case when it takes that much longer than its
        bytes take at the slowest rate (http1.Pace). Only StdioTransport takes a Stored body.
        Raises TransportLost when it may be sent again, BadResponse when not. Never follows a redirect.
        """

    def exchanges(self, *, deadline: float, patience: float) -> AbstractContextManager[Several]:  # noqa: ARG002
        """A connection for several requests at once; see `request` for the times. Raises TransportLost."""
        raise TransportLost(f"the transport {self.name!r} carries one request at a time")

    @abstractmethod
    def close(self) -> None:
        """Close every connection. Idempotent."""


def left(deadline: float) -> float:
    """Seconds until `deadline`. Raises TransportLost when it has passed."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TransportLost("no answer in time")
    return seconds
