"""A session of the zygote's own, so that others are born with its code and its caches warm.

What a session does for the first time it pays for with copies of pages that it shares with all others.
"""

from __future__ import annotations

import socket
from typing import Any

from .. import wire
from ..language import facades
from ..session import worker

_CELL = "import re\nclass A:\n    b = 1\nx = [i * i for i in range(3)]\nprint({k: f'{x}' for k in 'ab'})\n"
_ROUNDS = 16


class _Rehearsal(wire.Channel):
    """A channel whose peer is gone: what is answered goes nowhere."""

    def send_within(self, message: dict[str, Any], limit: int) -> bool:
        return bool(wire.frame(message, limit))


def rehearse() -> None:
    """In the zygote, before the walls: serve a session that runs a cell a few times."""
    limits = dict.fromkeys(("source_bytes", "ast_nodes", "stdout_bytes", "value_bytes", "result_bytes"), 1 << 16)
    begin = {"op": "begin", "modules": sorted(facades.NAMES), "tools": [], "screen": True, **limits}
    session = worker.Worker()
    session.reserve = b" "  # freeing one of the real size would change how malloc gets its memory
    peer, ours = socket.socketpair()
    with ours:
        with peer:
            peer.sendall(wire.frame({"op": "exec", "code": _CELL}) * _ROUNDS)
        session.serve(_Rehearsal(ours), {}, begin)
    for _ in range(_ROUNDS):
        session.warm(begin)
