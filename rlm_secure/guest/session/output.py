"""Captures what a cell prints: text is kept up to a limit; what exceeds it is counted and dropped at once."""

from __future__ import annotations

from ..language.registry import is_instance, title


class Output:
    """A text sink. `text()` is at most `cap` bytes of UTF-8; `dropped` counts the bytes that were not kept."""

    encoding = "utf-8"

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._pieces: list[str] = []
        self._left = cap
        self.dropped = 0

    def clear(self) -> None:
        """Forget everything, for the next cell."""
        self._pieces = []
        self._left = self._cap
        self.dropped = 0

    def write(self, text: str) -> int:
        """Keep as much of `text` as there is room for; return its full length, as files do. Raises TypeError."""
        if not is_instance(text, str):
            raise TypeError(f"write() argument must be str, not {title(type(text))}")
        # Convert to an exact str: a subclass could report a wrong length, or run its own code here.
        text = str.__str__(text)
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if size <= self._left:
            self._left -= size
            self._pieces.append(text)
        else:
            kept = text[: self._left]
            while kept and not kept.isascii() and len(kept.encode("utf-8", "surrogatepass")) > self._left:
                kept = kept[: len(kept) * 3 // 4]
            if kept:
                self._pieces.append(kept)
            self.dropped += size - (len(kept) if kept.isascii() else len(kept.encode("utf-8", "surrogatepass")))
            self._left = 0
        return len(text)

    def flush(self) -> None:
        """Do nothing: output is never buffered. It exists for code that calls it."""

    def isatty(self) -> bool:
        """False: this is never a terminal."""
        return False

    def text(self) -> str:
        """All kept text, in order."""
        return "".join(self._pieces)
