"""Contexts that reach a sandbox as files, by the provider's own upload: one round trip for each 8 MiB.

The stream of an exec carries base64 in requests of half a MiB. A file is sent as it is, compressed where that helps.
What the provider writes is not trusted: the supervisor accepts bytes only by the digest that the host has signed.
"""

from __future__ import annotations

import concurrent.futures
import logging
import secrets
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from rlm_secure.broker.client import STORED_CHUNK
from rlm_secure.broker.transports import Stored, TransportLost
from rlm_secure.environments.cloud.provider import put_seconds
from rlm_secure.environments.cloud.stream import Loop

_log = logging.getLogger("rlm_secure.cloud")

#: Contexts up to this size come over the stream: for them, that is as fast.
STORED_BYTES: Final = 1_000_000
#: Files that are being written at a time: one is compressed while another one is on its way.
_AHEAD: Final = 2
#: How many bytes of a chunk tell whether to compress it.
_SAMPLE: Final = 64 * 1024
#: Bytes a second of a network of which nothing is known, and what shows how fast it is: so large a file, or so long.
_RATE: Final = 12.5e6
_TELLING_BYTES: Final = 4 * 1024 * 1024
_TELLING_SECONDS: Final = 1.0


class Uplink:
    """How fast files are written into one sandbox."""

    def __init__(self) -> None:
        self._rate = _RATE

    def took(self, size: int, seconds: float) -> None:
        """Learn from a file. A short one shows only how far the sandbox is."""
        if size >= _TELLING_BYTES or seconds >= _TELLING_SECONDS:
            self._rate = size / max(seconds, 0.001)

    def pack(self, chunk: memoryview) -> bytes | None:
        """The chunk, compressed; None where that takes longer than it saves, as its first bytes show."""
        sample = chunk[:_SAMPLE]
        began = time.monotonic()
        smaller = sample.nbytes - len(zlib.compress(sample, 1))
        if smaller / self._rate <= time.monotonic() - began:
            return None
        packed = zlib.compress(chunk, 1)
        return packed if len(packed) < chunk.nbytes else None


def stored(
    loop: Loop,
    put: Callable[[str, bytes], Awaitable[str]],
    explain: Callable[[BaseException], tuple[str, bool]],
    uplink: Uplink,
    data: memoryview,
) -> Iterator[Stored | None]:
    """Put the chunks of a context into files with random names, in order, and give each once it is there.

    None for a chunk that could not be put there; after it, no other is tried.
    """
    started: deque[tuple[Stored, concurrent.futures.Future[None]]] = deque()
    writing: concurrent.futures.Future[None] | None = None
    offsets = iter(range(0, data.nbytes, STORED_CHUNK))
    try:
        while True:
            while len(started) < _AHEAD and (offset := next(offsets, None)) is not None:
                chunk = data[offset : offset + STORED_CHUNK]
                packed = uplink.pack(chunk)
                content = bytes(chunk) if packed is None else packed
                there = Stored(secrets.token_hex(16), len(content), chunk, packed=packed is not None)
                try:
                    started.append((there, loop.begin(_timed, put, there.name, content, uplink)))
                except TransportLost:  # the sandbox was closed
                    yield None
                    return
            if not started:
                return
            there, writing = started.popleft()
            try:
                writing.result(put_seconds(there.stored))
            except concurrent.futures.CancelledError:  # the sandbox was closed
                yield None
                return
            except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
                _log.warning("a context comes over the stream: its file could not be put there (%s)", explain(error)[0])
                yield None
                return
            writing = None
            yield there
    finally:
        for each in (writing, *(each for _, each in started)):
            if each is not None:
                each.cancel()


async def _timed(put: Callable[[str, bytes], Awaitable[str]], name: str, content: bytes, uplink: Uplink) -> None:
    began = time.monotonic()
    await put(name, content)
    uplink.took(len(content), time.monotonic() - began)
