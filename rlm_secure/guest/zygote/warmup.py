"""Runs a trial session in the zygote, so that real sessions inherit warm code and caches.

Whatever a session does for the first time writes to pages that it shares with all others, and so copies them.
"""

from __future__ import annotations

import socket
from typing import Any

from .. import wire
from ..language import imports
from ..session import worker

_CELL = "import re\nclass A:\n    b = 1\nx = [i * i for i in range(3)]\nprint({k: f'{x}' for k in 'ab'})\n"
_ROUNDS = 16


class _DiscardingChannel(wire.FrameChannel):
    """A channel whose peer is gone: answers are encoded and discarded."""

    def send_within(self, message: dict[str, Any], limit: int) -> bool:
        return bool(wire.frame(message, limit))


def warm_up() -> None:
    """Serve a session that runs a cell a few times. Called in the zygote, while its walls are tested."""
    limits = dict.fromkeys(("source_bytes", "ast_nodes", "stdout_bytes", "value_bytes", "result_bytes"), 1 << 16)
    begin = {"op": "begin", "modules": sorted(imports.NAMES), "tools": [], "screen": True, **limits}
    session = worker.SessionWorker()
    session.reserve = b" "  # freeing a reserve of the real size would change how malloc gets its memory
    peer, ours = socket.socketpair()
    with ours:
        with peer:
            peer.sendall(wire.frame({"op": "exec", "code": _CELL, "values": True}) * _ROUNDS)
        session.serve(_DiscardingChannel(ours), {}, begin)
    for _ in range(_ROUNDS):
        session.warm(begin)
