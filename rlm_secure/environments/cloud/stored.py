"""Contexts that reach a sandbox as files, by the provider's own upload, a few at a time.

The stream of an exec carries base64 in requests of half a MiB. A file is sent as it is, compressed where that helps.
What the provider writes is not trusted: the supervisor accepts bytes only by the digest that the host has signed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import math
import secrets
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from rlm_secure.broker.client import CHUNK
from rlm_secure.broker.transports import Stored, TransportLost
from rlm_secure.environments.cloud.provider import put_seconds
from rlm_secure.environments.cloud.stream import Loop
from rlm_secure.loggers import logger

_log = logger("rlm_secure.cloud")

#: Contexts up to this size come over the stream: for them, that is as fast.
STORED_BYTES: Final = 1_000_000
#: The least and the most files that are being written at a time; in between, what takes so long.
_AHEAD: Final = (2, 6)
_AHEAD_SECONDS: Final = 2.0
#: Chunks that are being compressed at a time: as many as a small machine has cores.
_PACKING: Final = 2
#: How many bytes of a chunk tell whether to compress it.
_SAMPLE: Final = 64 * 1024
#: Bytes a second of a network of which nothing is known, and what shows how fast it is: so many of them, or so long.
_RATE: Final = 12.5e6
_TELLING_BYTES: Final = 4 * 1024 * 1024
_TELLING_SECONDS: Final = 1.0
#: The least share of the time of a file that counts as its bytes' own: the rest is how far the sandbox is.
_OWN: Final = 0.1


class Uplink:
    """How fast files are written into one sandbox, several at a time. `writing` is used by one thread, a loop's."""

    def __init__(self) -> None:
        self._rate = _RATE
        self._far = 0.0
        self._under_way = 0
        self._busy_since = 0.0
        self._written = 0

    def took(self, size: int, seconds: float) -> None:
        """Learn from what was written without a pause. A little of it shows only how far the sandbox is."""
        if size >= _TELLING_BYTES or seconds >= _TELLING_SECONDS:
            self._rate = size / max(seconds - self._far, _OWN * seconds, 0.001)
        self._far = min(self._far or seconds, seconds)

    @contextlib.contextmanager
    def writing(self, size: int) -> Iterator[None]:
        """Learn from a file that the block writes, together with those that are written meanwhile."""
        began = time.monotonic()
        if not self._under_way:
            self._busy_since, self._written = began, 0
        self._under_way += 1
        try:
            yield
            now = time.monotonic()
            self._far = min(self._far or now - began, now - began)
            self._written += size
            self.took(self._written, now - self._busy_since)
        finally:
            self._under_way -= 1

    @property
    def ahead(self) -> int:
        """How many files are to be written at a time: a few seconds' worth, where the network is slow."""
        return min(max(math.ceil(self._rate * _AHEAD_SECONDS / CHUNK), _AHEAD[0]), _AHEAD[1])

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
    most: int = 12,
) -> Iterator[Stored | None]:
    """Put the chunks of a context into files with random names, and give each once it is there, in order.

    None for a chunk that could not be put there; after it, no other is tried. At most `most` files exist at a time,
    on their way or there.
    """
    started: deque[concurrent.futures.Future[Stored]] = deque()
    offsets = iter(range(0, data.nbytes, CHUNK))
    packing = asyncio.Semaphore(_PACKING)
    behind = most // 2
    try:
        while True:
            while len(started) < min(uplink.ahead, most - behind) and (offset := next(offsets, None)) is not None:
                started.append(loop.begin(_written, put, uplink, data[offset : offset + CHUNK], packing))
            if not started:
                return
            there = started[0].result(put_seconds(CHUNK))
            there.behind = behind
            started.popleft()
            yield there
    except (concurrent.futures.CancelledError, TransportLost):  # the sandbox was closed
        yield None
    except Exception as error:  # noqa: BLE001 - each SDK has its own exceptions
        _log.warning("a context comes over the stream: its file could not be put there (%s)", explain(error)[0])
        yield None
    finally:
        for each in started:
            each.cancel()


async def _written(
    put: Callable[[str, bytes], Awaitable[str]], uplink: Uplink, chunk: memoryview, packing: asyncio.Semaphore
) -> Stored:
    """Compress a chunk where that helps, and put it into a file."""
    async with packing:
        packed = await asyncio.get_running_loop().run_in_executor(None, uplink.pack, chunk)
    content = bytes(chunk) if packed is None else packed
    there = Stored(secrets.token_hex(16), len(content), chunk, packed=packed is not None)
    with uplink.writing(len(content)):
        await put(there.name, content)
    return there
