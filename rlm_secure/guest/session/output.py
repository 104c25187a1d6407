"""What a cell prints: kept up to a cap while it is produced, counted and dropped beyond it."""

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
        """Keep `text` as far as there is room; returns its length, as files do."""
        if not is_instance(text, str):
            raise TypeError(f"write() argument must be str, not {title(type(text))}")
        # An exact str: a subclass could lie about its length or run code of its own here.
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
        """Nothing waits: for code that calls it."""

    def isatty(self) -> bool:
        """Never a terminal."""
        return False

    def text(self) -> str:
        """Everything that was kept, in order."""
        return "".join(self._pieces)
