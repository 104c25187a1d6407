"""A bad network in front of an emulator: a TCP proxy that delays, limits the rate, resets connections, and goes dark."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

_PIECES = (4096, 256 * 1024)  # with a rate, and without one
#: What a link's own buffer holds, in seconds of its rate: beyond that its senders wait.
_BUFFER_SECONDS = 0.05


class Direction:
    """What goes one way over the link, of all its connections together. `rate` is in bytes a second; 0: no limit."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.bytes = 0
        self.free_at = 0.0

    def take(self, size: int, now: float) -> float:
        """When a piece of `size` bytes has left; the next one leaves after it."""
        self.bytes += size
        self.free_at = max(self.free_at, now) + (size / self.rate if self.rate else 0.0)
        return self.free_at


class Proxy:
    """Listens on a free loopback port, and carries each connection to `port`.

    `delay` is in seconds, one way; `up` and `down` are rates in bits a second, 0 for none. With `reset`, the link closes
    a connection after so many bytes of it, without a word.
    """

    def __init__(self, port: int, *, delay: float = 0.0, up: float = 0.0, down: float = 0.0, reset: int = 0) -> None:
        self._target = port
        self.delay = delay
        self.up, self.down = Direction(up / 8), Direction(down / 8)
        self.reset = reset
        self.resets = 0
        self._dark_until = 0.0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="emulator-proxy", daemon=True)
        self._thread.start()
        self._started.wait(10)

    def outage(self, seconds: float) -> None:
        """Carry nothing for so long: what is under way arrives afterwards, if its connection still exists."""
        self._dark_until = time.monotonic() + seconds

    def close(self) -> None:
        """Close every connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_PIECES[1]))
        self.port: int = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends: list[Any] = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._until(time.monotonic() + 2 * self.delay)  # its handshake
            there, back = await asyncio.open_connection("127.0.0.1", self._target, limit=_PIECES[1])
            ends.append(back)
            carried = [0]
            await asyncio.gather(
                self._carry(self.up, reader, back, carried), self._carry(self.down, there, writer, carried)
            )
        for end in ends:
            end.transport.abort()

    async def _carry(self, way: Direction, source: Any, sink: Any, carried: list[int]) -> None:
        due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        arriving = asyncio.ensure_future(self._arrive(due, sink))
        try:
            while data := await source.read(_PIECES[way.rate == 0]):
                carried[0] += len(data)
                if self.reset and carried[0] > self.reset:
                    self.resets += 1
                    raise ConnectionResetError
                left = way.take(len(data), time.monotonic())
                due.put_nowait((left + self.delay, data))
                await self._until(left - _BUFFER_SECONDS)
            due.put_nowait((time.monotonic() + self.delay, b""))
            await arriving
        finally:
            arriving.cancel()

    async def _arrive(self, due: asyncio.Queue[tuple[float, bytes]], sink: Any) -> None:
        while True:
            at, data = await due.get()
            await self._until(at)
            if not data:
                sink.write_eof()
                return
            sink.write(data)
            await sink.drain()

    async def _until(self, moment: float) -> None:
        while (pause := max(moment, self._dark_until) - time.monotonic()) > 0:
            await asyncio.sleep(pause)
