"""The log of a session: each request that changed its variables, with the host's replies to its calls."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

from rlm_secure.types import held_bytes

#: Larger replies of one cell are not kept, and a larger log is not replayed.
REPLIES_BYTES = 8 << 20
LOG_BYTES = 64 << 20
#: A log with more contexts than this is not replayed either: each holds a file descriptor.
LOG_ATTACHMENTS = 64
#: Values that refer to no others.
_ATOMS: Final = frozenset({str, int, bool, NoneType})

#: Requests that change nothing, though some of them run code of the cell: they are not replayed.
READS = ("read", "value", "files", "part", "check", "digest")


@dataclass(slots=True)
class LogEntry:
    """One request of the log, its attachment (a context), and the host's replies."""

    request: Mapping[str, Any]
    attachment: Any = None
    replies: list[Mapping[str, Any]] = field(default_factory=list)
    weight: int = 0
    own: int = field(init=False)

    def __post_init__(self) -> None:
        values = self.request.values()  # its keys are the few of the protocol
        atoms = _ATOMS.issuperset(map(type, values))
        self.own = sum(map(sys.getsizeof, values)) if atoms else held_bytes([*values], LOG_BYTES)

    def answered(self, reply: Mapping[str, Any]) -> None:
        """Keep a reply, as long as all of them together are small: a cell must not fill the host's memory."""
        self.weight += held_bytes(dict(reply), REPLIES_BYTES)
        if self.heavy:
            self.replies.clear()
        else:
            self.replies.append(reply)

    @property
    def size(self) -> int:
        """Bytes of memory that its source or value, and its replies, take."""
        return self.own + self.weight

    @property
    def attached(self) -> int:
        """Bytes of its attached context, if this process keeps them."""
        return int(getattr(self.attachment, "size", 0))

    @property
    def heavy(self) -> bool:
        """Whether its replies were too large to keep, so that it cannot be replayed."""
        return self.weight > REPLIES_BYTES
