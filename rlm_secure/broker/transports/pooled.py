"""What transports with reusable connections share: a connection carries the requests of one user at a time."""

from __future__ import annotations

import contextlib
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from rlm_secure.broker.transports import Body, Response, Transport
from rlm_secure.broker.transports.http1 import Connection, Exchanges, exchange

_Kept = TypeVar("_Kept", bound=Connection)


class PooledTransport(Transport, Generic[_Kept]):
    """Takes a connection for each request, and returns it to the pool."""

    #: Headers that are added to every request.
    _headers: Mapping[str, str] = {}

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
        """See Transport.request."""
        connection = self._take(deadline)
        keep = False
        try:
            everything = {**self._headers, **headers}
            answer, keep = exchange(
                connection,
                method,
                target,
                everything,
                body,
                limit=limit,
                deadline=deadline,
                patience=patience,
                acknowledged=lambda: self._acknowledged(connection),
            )
            return answer
        finally:
            self._give_back(connection, keep)

    @contextlib.contextmanager
    def exchanges(self, *, deadline: float, patience: float) -> Iterator[Exchanges]:
        """A connection for several requests, which may be on their way at once. See Transport.request for the times.

        Raises TransportLost where there is none by `deadline`.
        """
        connection = self._take(deadline)
        several = Exchanges(
            connection,
            deadline=deadline,
            patience=patience,
            acknowledged=lambda: self._acknowledged(connection),
        )
        try:
            yield several
        finally:
            self._give_back(connection, several.reusable)

    def _acknowledged(self, connection: _Kept) -> int:  # noqa: ARG002 - a socket does not tell
        """How many bytes sent over the connection are known to have arrived."""
        return 0

    @abstractmethod
    def _take(self, deadline: float) -> _Kept:
        """A connection that no other request uses. Raises TransportLost where there is none by `deadline`."""

    @abstractmethod
    def _give_back(self, connection: _Kept, keep: bool) -> None:
        """Keep the connection for the next request, or close it where it cannot be used again."""
