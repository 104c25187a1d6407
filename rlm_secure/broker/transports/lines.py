"""Lines of a stream that a sandbox fills: cut where they end, checked, and paid for.

Whoever fills it chooses the size of each piece and of each line, so the work per byte is bounded here: no byte is
searched twice, a line that grows too long is dropped as it comes, and whatever brings nothing is charged.

Guards: the bytes of an exec's stream: bounded, numbered, of known types
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rlm_secure.broker.transports import BadResponse

MAX_LINE: Final = 96 * 1024
#: What a piece and a line are charged beside their bytes: handling them takes about as long.
EACH: Final = 64
#: What a byte that somebody waits for pays for: its base64, its line, and lines like it that came twice.
_WORTH: Final = 4
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class Lines:
    """Cuts what comes into lines of at most `longest` bytes; a longer one is dropped."""

    def __init__(self, longest: int = MAX_LINE) -> None:
        self._longest = longest
        self._begun = bytearray()  # the line that has not ended yet: it holds no line break
        self._dropping = False

    def __len__(self) -> int:
        return len(self._begun)

    def take(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in `data`, without their ends."""
        at = 0
        while (end := data.find(b"\n", at)) >= 0:
            self._keep(data[at:end])
            at = end + 1
            if not self._dropping:
                yield bytes(self._begun)
            self._begun.clear()
            self._dropping = False
        self._keep(data[at:])

    def _keep(self, data: bytes) -> None:
        if self._dropping or len(self._begun) + len(data) > self._longest:
            self._dropping = True
            self._begun.clear()
        else:
            self._begun += data


class Charge:
    """What a stream has said that brought nothing. `most` is how much that may come to, in bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._charged = 0

    def took(self, size: int = 0) -> None:
        """A piece of so many bytes came, or a line in it. Raises BadResponse when it was too much."""
        self._charged += size + EACH
        if self._charged > self._most:
            said = f"more than {self._most:,} bytes that nobody asked for"
            raise BadResponse(f"the stream carries something else: {said}")

    def brought(self, size: int, lines: int = 0) -> None:
        """So many bytes of it were waited for, and so many lines of ours were acknowledged."""
        self._charged = max(self._charged - _WORTH * (size + EACH * lines), 0)


class Fields:
    """The checked fields of one line."""

    __slots__ = ("acknowledged", "channel", "data", "end", "number")

    def __init__(self, number: int | None, acknowledged: int, channel: int, data: bytes, end: bool) -> None:
        self.number = number
        self.acknowledged = acknowledged
        self.channel = channel
        self.data = data
        self.end = end


def fields(line: Mapping[str, Any]) -> Fields:
    """Raises ValueError for anything but the fields that dial.py documents."""
    numbers = {name: line.get(name, 0) for name in ("n", "a", "c")}
    text, end = line.get("d", ""), line.get("end", False)
    if any(type(value) is not int or not 0 <= value < 2**53 for value in numbers.values()):
        raise ValueError("a number is not one")
    encoded = text.encode("utf-8", "replace") if isinstance(text, str) and isinstance(end, bool) else b"?"
    if encoded.rstrip(b"=").translate(None, _BASE64):
        raise ValueError("data is not base64")
    try:
        data = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ValueError("data is not base64") from None
    return Fields(numbers["n"] if "n" in line else None, numbers["a"], numbers["c"], data, end)
