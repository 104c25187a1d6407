"""A reply that arrives as server-sent events: each is checked and written anew before the SDK parses it.

SDKs split lines in different ways and put no limit on an event. They get each event in one form: its name, if it is a
plain word, and its JSON on one line in ASCII. Comments, ids and everything after the end mark are dropped.

Guards: the bounds of a streamed reply, for its text and for each event, before an SDK parses it
"""

from __future__ import annotations

import json
import re
from typing import Final

from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.reply import checked

#: What a line of an event counts as, in addition to its bytes.
_LINE: Final = 64
#: Events of one reply, in addition to one per 8 bytes of text that it may have: each costs an SDK some 100 us.
_EVENTS: Final = 16_384
_NAME: Final = re.compile(rb"[a-z_.]{1,64}")
_END: Final = b"[DONE]"


class StreamedEvents:
    """The events of one reply, for `call`. `add` raises ProviderError when a limit is exceeded."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call
        self._total = 0
        self._left = _EVENTS + call.reply_bytes // 8
        self._rest = bytearray()
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> list[bytes]:
        """The events that are complete with this piece of the body, each in the one form."""
        self._call.piece()
        self._total += len(piece)
        if self._total > self._call.stream_bytes:
            raise self._call.too_large()
        self._rest += piece
        events: list[bytes] = []
        if b"\n" in piece:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                events += self._line(line.removesuffix(b"\r"))
        if len(self._rest) + self._size > self._call.body_bytes:
            raise self._call.too_large()
        return events

    def _line(self, line: bytes) -> list[bytes]:
        """The event that `line` completes, if it does."""
        if self._call.ended or not line:
            return [] if self._call.ended else self._event()
        field, _, value = line.partition(b":")
        if field == b"event":
            self._name = value.strip()
        elif field == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + _LINE
        return []

    def _event(self) -> list[bytes]:
        name, data = self._name, b"\n".join(self._data)
        self._name, self._data, self._size = b"", [], 0
        if not data:
            return []
        self._left -= 1
        if self._left < 0:
            raise self._call.refuse("its reply comes in too many small pieces; check the server at base_url")
        if data.strip() == _END:
            self._call.ended = True
            return [b"data: [DONE]\n\n"]
        head = b"event: " + name + b"\n" if _NAME.fullmatch(name) else b""
        return [head + b"data: " + json.dumps(checked(self._call, data)).encode() + b"\n\n"]
