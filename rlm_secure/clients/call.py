"""The limits of one model call, enforced at its connection: the deadline, the bytes that may arrive, why it was ended.

An SDK gets its HTTP client once and makes many calls, from many threads and tasks. The state of one call is kept in a
context variable, set in every thread and task of that call: the transport reads it at each operation.

Guards: the one deadline and the one allowance of bytes of a model call, retries included
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from rlm_secure.clients.tool_calls import ToolSpec
from rlm_secure.errors import ProviderError

_KIB: Final = 1024
#: Bytes that may arrive before the headers of a reply are complete: interim replies, a proxy's answer, the headers.
_HEAD_BYTES: Final = 128 * _KIB
#: Bytes that a provider adds around a text: ids, usage, ratings.
_ENVELOPE: Final = 64 * _KIB
#: Pieces that a body may arrive in, in addition to one per 256 bytes. Each costs the HTTP library some 20 us.
_PIECES: Final = 16_384
#: Bytes of a streamed body per byte of text: each event has some 300 bytes of its own around one token.
_PER_STREAMED: Final = 128
#: Memory that reading a reply may always take, however small `lm.reply_bytes` is.
_LEAST_MEMORY: Final = 4 * _KIB * _KIB

_current: ContextVar[ModelCall | None] = ContextVar("rlm_secure_model_call", default=None)


class ModelCall:
    """The limits of one call of `vendor`: `seconds` in total, and a text of at most `reply_bytes` bytes.

    `limit` names the byte limit in errors. `failure` is the error with which the transport ended the call, if any.
    `retry_after` is how many seconds the provider asked to wait, `may_retry` is false if it forbade another attempt,
    `is_under_way` tells whether a request is in flight. For one thread or task at a time.

    With `on_text`, the reply is asked for as a stream: it gets the number of each piece of text, from 0, and the piece.
    An attempt after one that failed begins at 0 again. `ended` says that the stream's end mark has arrived.
    `tools` are those that the model is offered.
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
        self._sent = self._lost = False
        self._deadline = time.monotonic() + seconds
        self._room = 0
        self._pieces = 0
        self.tools: tuple[ToolSpec, ...] = ()
        self.on_text: Callable[[int, str], None] | None = None
        self.ended = False
        self._text = io.StringIO()
        self._said = self._texts = 0

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self._deadline - time.monotonic()

    @property
    def body_bytes(self) -> int:
        """Most bytes of a body: its text, a quarter more for JSON escapes, and the fields around it."""
        return self.reply_bytes + self.reply_bytes // 4 + _ENVELOPE

    @property
    def streams(self) -> bool:
        """Whether the reply is asked for as a stream."""
        return self.on_text is not None

    @property
    def stream_bytes(self) -> int:
        """Most bytes of a body that arrives as events. They are not kept: their text has the limit of a reply."""
        return _PER_STREAMED * self.reply_bytes + self.body_bytes

    @property
    def memory(self) -> int:
        """Bytes of memory that reading the reply may take."""
        return max(4 * self.reply_bytes, _LEAST_MEMORY)

    def wait(self, timeout: float | None = None) -> float:
        """Seconds that one operation of the connection may take. Raises ProviderError after the deadline."""
        left = self.left
        if left <= 0:
            raise self.end(self.timed_out())
        return left if timeout is None else min(timeout, left)

    def timed_out(self) -> ProviderError:
        """The error for a call that reached its deadline."""
        said = f"the {self.vendor} call had no reply within {self.seconds:g} seconds"
        return ProviderError(said, retryable=True, cut_off=True)

    def refuse(self, reason: str) -> ProviderError:
        """End the call because of what the provider sent; `reason` is our own text. Raise the returned error."""
        return self.end(ProviderError(f"the {self.vendor} call was ended: {reason}", cut_off=True))

    def too_large(self) -> ProviderError:
        """End the call because its reply is too large. Raise the returned error."""
        return self.refuse(f"its reply takes more than {self.limit} = {self.reply_bytes:,}; ask for a shorter one")

    @property
    def cut_off(self) -> bool:
        """Whether a request went out that the provider did not refuse: it may charge for it."""
        return self._sent or self._lost

    def sends(self) -> None:
        """A part of a request goes out."""
        self._sent = True

    def refused(self) -> None:
        """The provider has refused the request."""
        self._sent = False

    def end(self, failure: ProviderError) -> ProviderError:
        """Record the first failure and return it: an SDK may wrap the exception in its own and lose it."""
        self.failure = self.failure or failure
        return self.failure

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Mark one request as in flight; interim replies and headers come first, with their own limit of bytes."""
        self.wait()
        self._sent, self._lost = False, self.cut_off
        self._room, self._pieces = _HEAD_BYTES, _PIECES + self._whole // 256
        self.retry_after, self.may_retry = None, True
        self.is_under_way = True
        try:
            yield
        finally:
            self.is_under_way = False

    def body(self) -> None:
        """Apply the limit of the body, including the overhead of chunked encoding: the headers are complete."""
        self._room = 2 * self._whole + _HEAD_BYTES

    @property
    def _whole(self) -> int:
        return self.stream_bytes if self.streams else self.body_bytes

    def begin_text(self) -> None:
        """Forget the text of an attempt that failed."""
        self._text, self._said, self._texts, self.ended = io.StringIO(), 0, 0, False

    def say(self, text: str) -> None:
        """Take one piece of a streamed reply's text. Raises ProviderError for more than reply_bytes, or too late."""
        if not text:
            return
        self._said += len(text.encode("utf-8", "surrogatepass"))
        if self._said > self.reply_bytes:
            raise self.too_large()
        self.wait()
        self._text.write(text)
        number, self._texts = self._texts, self._texts + 1
        assert self.on_text is not None  # only a call that streams has pieces
        self.on_text(number, text)

    def text(self, *, finished: bool) -> str:
        """The streamed text. Raises ProviderError if the stream broke off: not `finished`, and without an end mark."""
        if not (finished or self.ended):
            raise self.refuse("its reply broke off before its end; ask again")
        return self._text.getvalue()

    def arrived(self, size: int) -> None:
        """Count `size` received bytes. Raises ProviderError for more than this part of a reply may take."""
        self._room -= size
        if self._room < 0:
            raise self.too_large()

    def piece(self) -> None:
        """Count one piece of the body from the HTTP library. Raises ProviderError for one too many, or too late."""
        self._pieces -= 1
        if self._pieces < 0:
            raise self.refuse("its reply comes in too many small pieces; check the server at base_url")
        self.wait()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the current call of this thread or task."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def current() -> ModelCall | None:
    """The current call of this thread or task; None when an HTTP client is used for something else."""
    return _current.get()
