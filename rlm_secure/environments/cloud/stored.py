"""Contexts that reach a sandbox as files, by the provider's own upload: one round trip for each 8 MiB.

The stream of an exec carries base64 in requests of half a MiB. A file is sent as it is, compressed where that helps.
What the provider writes is not trusted: the supervisor accepts bytes only by the digest that the host has signed.
"""

from __future__ import annotations

import concurrent.futures
import logging
import secrets
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from rlm_secure.broker.client import STORED_CHUNK
from rlm_secure.broker.transports import Stored
from rlm_secure.environments.cloud.provider import put_seconds
from rlm_secure.environments.cloud.stream import Loop

_log = logging.getLogger("rlm_secure.cloud")

#: Contexts up to this size come over the stream: for them, that is as fast.
STORED_BYTES: Final = 1_000_000
#: Files that are being written at a time: one is compressed while another one is on its way.
_AHEAD: Final = 2
#: A chunk is compressed if its first bytes become smaller than this share of them.
_WORTH: Final = 0.75
_SAMPLE: Final = 64 * 1024


def stored(
    loop: Loop,
    put: Callable[[str, bytes], Awaitable[str]],
    explain: Callable[[BaseException], tuple[str, bool]],
    data: memoryview,
) -> Iterator[Stored | None]:
    """Put the chunks of a context into files with random names, in order, and give each once it is there.

    None for a chunk that could not be put there; after it, no other is tried.
    """
    started: deque[tuple[Stored, concurrent.futures.Future[str]]] = deque()
    writing: concurrent.futures.Future[str] | None = None
    offsets = iter(range(0, data.nbytes, STORED_CHUNK))
    try:
        while True:
            while len(started) < _AHEAD and (offset := next(offsets, None)) is not None:
                chunk = data[offset : offset + STORED_CHUNK]
                packed = len(zlib.compress(chunk[:_SAMPLE], 1)) < _WORTH * min(_SAMPLE, chunk.nbytes)
                content = zlib.compress(chunk, 1) if packed else bytes(chunk)
                if len(content) > chunk.nbytes:  # only its beginning became smaller
                    packed, content = False, bytes(chunk)
                name = secrets.token_hex(16)
                there = Stored(name, len(content), chunk, packed=packed)
                started.append((there, loop.begin(put, name, content)))
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
