"""Connections to the supervisor over the stream of an exec: the host's end of `guest/supervisor/dial.py`.

Nothing listens and no port is open. Lines may be lost, duplicated or mixed with noise. A stream that breaks is
dialled again; the sender of a request in flight then retries it under its old number. After a few streams that broke
because of their content, none is dialled.

Guards: how often a stream that sends unrequested data is dialled again
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rlm_secure.broker.transports import BadResponse, TransportLost, left
from rlm_secure.broker.transports.pooled import PooledTransport
from rlm_secure.broker.transports.tube import Channel, Pipe, Tube

#: Streams of a transport that may break because of their content.
_MAX_SPOILED = 3
_HELLO_SECONDS = 30.0


class StdioTransport(PooledTransport[Channel]):
    """Connections over one dialled stream. `dial` starts a new one: at first, and when one breaks.

    Its argument is a deadline (time.monotonic()); a thread that waits for another's dial keeps its own deadline.
    """

    name = "exec"

    def __init__(self, dial: Callable[[float], Pipe]) -> None:
        self._dial = dial
        self._dialling = threading.Lock()
        self._lock = threading.Lock()
        self._tube: Tube | None = None
        self._idle: list[Channel] = []
        self._closed = False
        self._spoiled = 0
        self._last = ""

    def close(self) -> None:
        """Send `bye` and close the stream. Idempotent."""
        with self._lock:
            self._closed = True
            tube, self._tube = self._tube, None
            self._idle.clear()
        if tube is not None:
            tube.close()

    def _take(self, deadline: float) -> Channel:
        tube = self._dialled(deadline)
        with self._lock:
            while self._idle:
                channel = self._idle.pop()
                if channel.usable:
                    break
                channel.close()
            else:
                channel = tube.channel()
            channel.asked = True
            return channel

    def _acknowledged(self, connection: Channel) -> int:
        return connection.acknowledged

    def _give_back(self, connection: Channel, keep: bool) -> None:
        connection.asked = False
        with self._lock:
            if keep and connection.usable:
                self._idle.append(connection)
            else:
                connection.close()

    def _dialled(self, deadline: float) -> Tube:
        """The stream, dialled where there is none. Raises TransportLost or BadResponse."""
        if not self._dialling.acquire(timeout=left(deadline)):
            raise TransportLost("the sandbox is being dialled, which takes longer than there is time")
        try:
            with self._lock:
                if self._tube is not None and not self._tube.broken:
                    return self._tube
                self._hang_up()
            pipe = self._dial(deadline)
            with self._lock:
                closed = self._closed
                tube = None if closed else Tube(pipe)
                self._tube = tube
            if tube is None:
                pipe.close()
                raise TransportLost("the transport is closed")
            tube.greeted(min(deadline, time.monotonic() + _HELLO_SECONDS))
            return tube
        finally:
            self._dialling.release()

    def _hang_up(self) -> None:
        """Drop a broken stream. Raises BadResponse where too many broke because of their content, or TransportLost."""
        if self._closed:
            raise TransportLost("the transport is closed")
        self._idle.clear()
        if self._tube is not None:
            tube, self._tube = self._tube, None
            self._spoiled += tube.spoiled
            tube.close()
            self._last = tube.broken
        if self._spoiled >= _MAX_SPOILED:
            raise BadResponse(f"{self._spoiled} streams were dialled, and the last one had to be closed: {self._last}")
