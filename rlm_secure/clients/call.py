"""One model call as its connection sees it: when it ends, how much may come, and why it was ended.

An SDK is handed its HTTP client once and asked many times, from many threads and tasks. What belongs to one call goes
along in a context variable, which every thread and task of that call has: the transport reads it at each operation.

Guards: the one deadline and the one allowance of bytes of a model call, retries included
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from rlm_secure.errors import ProviderError

_KIB: Final = 1024
#: Bytes that may come before the headers of a reply are complete: interim replies, a proxy's answer, the headers.
_HEAD_BYTES: Final = 128 * _KIB
#: What a provider says around a text: ids, usage, ratings.
_ENVELOPE: Final = 64 * _KIB
#: Pieces that a body may come in beside those that its size explains. Each costs the HTTP library some 20 us.
_PIECES: Final = 16_384
#: Memory that the reading of any reply may take, however small `lm.reply_bytes` is.
_LEAST_MEMORY: Final = 4 * _KIB * _KIB

_current: ContextVar[ModelCall | None] = ContextVar("rlm_secure_model_call", default=None)


class ModelCall:
    """The limits of one call of `vendor`: `seconds` in all, and a text of at most `reply_bytes` bytes, says `limit`.

    `failure` is what ended it, where the transport did. `retry_after` is how many seconds the provider asked to wait,
    `may_retry` whether it did not forbid another attempt, `is_under_way` whether a request is on the wire. For one
    thread or task at a time.
    """

    def __init__(self, vendor: str, seconds: float, reply_bytes: int, limit: str = "lm.reply_bytes") -> None:
        self.vendor = vendor
        self.limit = limit
        self.seconds = seconds
        self.reply_bytes = reply_bytes
        self.failure: ProviderError | None = None
        self.retry_after: float | None = None
        self.may_retry = True
        self.is_under_way = False
        self._deadline = time.monotonic() + seconds
        self._room = 0
        self._pieces = 0

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative behind it."""
        return self._deadline - time.monotonic()

    @property
    def body_bytes(self) -> int:
        """Bytes of a body: its text, a quarter more for what JSON escapes, and what stands around it."""
        return self.reply_bytes + self.reply_bytes // 4 + _ENVELOPE

    @property
    def memory(self) -> int:
        """Bytes of memory that reading the reply may take."""
        return max(4 * self.reply_bytes, _LEAST_MEMORY)

    def wait(self, timeout: float | None = None) -> float:
        """Seconds that one operation of the connection may take. Raises ProviderError behind the deadline."""
        left = self.left
        if left <= 0:
            raise self.end(self.timed_out())
        return left if timeout is None else min(timeout, left)

    def timed_out(self) -> ProviderError:
        """The error for a call that met its deadline."""
        return ProviderError(f"the {self.vendor} call had no reply within {self.seconds:g} seconds", retryable=True)

    def refuse(self, reason: str) -> ProviderError:
        """End the call for what the provider sent; `reason` is a clause in our own words. Raise what is returned."""
        return self.end(ProviderError(f"the {self.vendor} call was ended: {reason}"))

    def too_large(self) -> ProviderError:
        """End the call for the size of its reply. Raise what is returned."""
        return self.refuse(f"its reply takes more than {self.limit} = {self.reply_bytes:,}; ask for a shorter one")

    def end(self, failure: ProviderError) -> ProviderError:
        """Keep the first reason: an SDK may put an exception of its own around it, and lose it."""
        self.failure = self.failure or failure
        return self.failure

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """While a request is under way; what comes first are interim replies and headers."""
        self.wait()
        self._room, self._pieces = _HEAD_BYTES, _PIECES + self.body_bytes // 256
        self.retry_after, self.may_retry = None, True
        self.is_under_way = True
        try:
            yield
        finally:
            self.is_under_way = False

    def body(self) -> None:
        """The headers are complete: what comes now is the body, and what chunked encoding adds to it."""
        self._room = 2 * self.body_bytes + _HEAD_BYTES

    def arrived(self, size: int) -> None:
        """Bytes came off the wire. Raises ProviderError for more than this part of a reply may take."""
        self._room -= size
        if self._room < 0:
            raise self.too_large()

    def piece(self) -> None:
        """The HTTP library hands over one piece of the body. Raises ProviderError for one too many, or too late."""
        self._pieces -= 1
        if self._pieces < 0:
            raise self.refuse("its reply comes in too many small pieces; check the server at base_url")
        self.wait()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While this thread or task works on the call."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def current() -> ModelCall | None:
    """The call that this thread or task works on; None where an HTTP client is used for something else."""
    return _current.get()
