"""How one HTTP message gets to a broker and its answer back. A transport carries; it knows no key.

Three exist: `uds` (a Unix socket that the host listens on), `https` (a provider's ingress) and `stdio` (the
stream of an exec, through `dial` in the guest). All bound every read in bytes and seconds.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass


class TransportLost(Exception):
    """The message or its answer was lost on the way; the same request may be sent again."""


class BadResponse(Exception):
    """What came back is not an answer, or is larger than asked for. The sentence says what it was."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer. Header names are in lower case. Nothing in it is authenticated yet."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(ABC):
    """Carries requests to one broker. Thread-safe: requests of several threads may be under way."""

    name: str

    @abstractmethod
    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | memoryview,
        *,
        limit: int,
        deadline: float,
    ) -> Response:
        """Send one request and read its answer, of at most `limit` bytes, until `deadline` (time.monotonic()).

        Raises TransportLost when it may be sent again, BadResponse when not. Never follows a redirect.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of every connection. Idempotent."""


def left(deadline: float) -> float:
    """Seconds until `deadline`. Raises TransportLost when it is over."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TransportLost("no answer in time")
    return seconds
