"""Captures what a cell prints: text is kept up to a limit; what exceeds it is counted and dropped at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..language.registry import is_instance, title

#: Least seconds between two pieces of output on their way to the host: for whole lines, and for a part of one.
_LINES_SECONDS, _PART_SECONDS = 0.05, 0.25
#: Characters that do not wait so long.
_AT_ONCE = 65_536


class Output:
    """A text sink. `text()` is at most `cap` bytes of UTF-8; `dropped` counts the bytes that were not kept.

    If `stream` is set, it is called with what is kept, soon after it is written.
    """

    encoding = "utf-8"

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._pieces: list[str] = []
        self._left = cap
        self.dropped = 0
        self.stream: Callable[[str], object] | None = None
        self._waiting: list[str] = []
        self._size = 0
        self._sent_at = 0.0

    def clear(self) -> None:
        """Forget everything, for the next cell."""
        self.stream = None
        if not (self._pieces or self.dropped):
            return  # nothing was written
        self._pieces = []
        self._left = self._cap
        self.dropped = 0

    def to(self, stream: Callable[[str], object]) -> None:
        """Call `stream` with what is written from now on."""
        self.stream = stream
        self._waiting = []
        self._size = 0
        self._sent_at = time.monotonic() - _LINES_SECONDS  # the first line goes at once

    def write(self, text: str) -> int:
        """Keep as much of `text` as there is room for; return its full length, as files do. Raises TypeError."""
        if not is_instance(text, str):
            raise TypeError(f"write() argument must be str, not {title(type(text))}")
        # Convert to an exact str: a subclass could report a wrong length, or run its own code here.
        text = str.__str__(text)
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size <= self._left:
            self._left -= size
            self._keep(text)
        else:
            kept = text[: self._left]
            while kept and not kept.isascii() and len(kept.encode("utf-8", "surrogatepass")) > self._left:
                kept = kept[: len(kept) * 3 // 4]
            if kept:
                self._keep(kept)
            self.dropped += size - (len(kept) if kept.isascii() else len(kept.encode("utf-8", "surrogatepass")))
            self._left = 0
        return len(text)

    def _keep(self, text: str) -> None:
        self._pieces.append(text)
        if self.stream is not None:
            self._waiting.append(text)
            self._size += len(text)
            since = time.monotonic() - self._sent_at
            if self._size >= _AT_ONCE or since >= (_LINES_SECONDS if text.endswith("\n") else _PART_SECONDS):
                self.flush()

    def flush(self) -> None:
        """Send what waits to be streamed; else do nothing, for output is not buffered."""
        if self.stream is not None and self._waiting:
            text = "".join(self._waiting)
            self._waiting, self._size = [], 0
            self._sent_at = time.monotonic()
            if text:
                self.stream(text)

    def isatty(self) -> bool:
        """False: this is never a terminal."""
        return False

    def text(self) -> str:
        """All kept text, in order."""
        return "".join(self._pieces)
