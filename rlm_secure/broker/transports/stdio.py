"""The stream of an exec in the sandbox, as connections to the supervisor: the host's end of `guest/dial.py`.

Nothing listens and no port is open. Lines may be lost, doubled or mixed with noise; whole streams may break,
and are dialled again: a request that was under way is then sent again by its sender, under its old number. Where
streams break because of what they say, none is dialled after a few.

Guards: how often a stream is dialled that says what nobody asked for
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from rlm_secure.broker.transports import Answer, Cut, Garbled, Transport
from rlm_secure.broker.transports.http1 import exchange
from rlm_secure.broker.transports.tube import Channel, Pipe, Tube

#: Streams of a transport that may break because of what they say.
_MAX_SPOILED = 3
_HELLO_SECONDS = 30.0


class StdioTransport(Transport):
    """Connections over one dialled stream. `dial` starts a new one: at first, and when one breaks."""

    name = "exec"

    def __init__(self, dial: Callable[[], Pipe]) -> None:
        self._dial = dial
        self._lock = threading.Lock()
        self._tube: Tube | None = None
        self._idle: list[Channel] = []
        self._closed = False
        self._spoiled = 0
        self._last = ""

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | memoryview,
        *,
        limit: int,
        deadline: float,
    ) -> Answer:
        """See Transport.request."""
        channel = self._take(deadline)
        keep = False
        try:
            answer, keep = exchange(channel, method, target, headers, body, limit=limit, deadline=deadline)
            return answer
        finally:
            channel.asked = False
            with self._lock:
                if keep and channel.usable:
                    self._idle.append(channel)
                else:
                    channel.close()

    def close(self) -> None:
        """Say bye and close the stream. Idempotent."""
        with self._lock:
            self._closed = True
            tube, self._tube = self._tube, None
            self._idle.clear()
        if tube is not None:
            tube.close()

    def _take(self, deadline: float) -> Channel:
        with self._lock:
            if self._closed:
                raise Cut("the transport is closed")
            if self._tube is None or self._tube.broken:
                self._hang_up()
                self._tube = Tube(self._dial())
                self._tube.greeted(min(deadline, time.monotonic() + _HELLO_SECONDS))
            while self._idle:
                channel = self._idle.pop()
                if channel.usable:
                    break
                channel.close()
            else:
                channel = self._tube.channel()
            channel.asked = True
            return channel

    def _hang_up(self) -> None:
        """Let go of a stream that broke. Raises Garbled where too many broke because of what they said."""
        self._idle.clear()
        if self._tube is not None:
            tube, self._tube = self._tube, None
            self._spoiled += tube.spoiled
            tube.close()
            self._last = tube.broken
        if self._spoiled >= _MAX_SPOILED:
            raise Garbled(f"{self._spoiled} streams were dialled, and the last one had to be closed: {self._last}")
