"""Lines of a stream from a sandbox: split, checked, and limited in what they cost.

The sender chooses the size of each piece and of each line, so the work per byte is limited here: no byte is searched
twice, a line that grows too long is dropped as it arrives, and data that makes no progress is charged.

Guards: the bytes of an exec's stream: bounded, numbered, of known types
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rlm_secure.broker.transports import BadResponse

MAX_LINE: Final = 96 * 1024
#: Bytes charged for each piece and each line in addition to its own: handling it takes about as long.
EACH: Final = 64
#: Bytes credited for each requested byte: they cover its base64, its line, and duplicates of the line.
_WORTH: Final = 4
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class Lines:
    """Splits a stream into lines of at most `longest` bytes; drops longer ones."""

    def __init__(self, longest: int = MAX_LINE) -> None:
        self._longest = longest
        self._begun = bytearray()  # the incomplete line: it contains no line break
        self._dropping = False

    def __len__(self) -> int:
        return len(self._begun)

    def take(self, data: bytes) -> Iterator[bytes]:
        """The lines that end in `data`, without their line breaks."""
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
    """Counts the bytes of a stream that made no progress, of which there may be `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._charged = 0

    def took(self, size: int = 0) -> None:
        """Charge a piece of `size` bytes, or a line in it. Raises BadResponse when the limit is exceeded."""
        self._charged += size + EACH
        if self._charged > self._most:
            said = f"more than {self._most:,} bytes that nobody asked for"
            raise BadResponse(f"the stream carries something else: {said}")

    def brought(self, size: int, lines: int = 0) -> None:
        """Credit `size` bytes that were requested, and `lines` of ours that were acknowledged."""
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
    """The fields that dial.py documents. Raises ValueError where one has another type or range."""
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
