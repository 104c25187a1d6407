"""The baseline: a plain worker process, without any wall."""

from __future__ import annotations

import platform

from benchmarks.peers.naive import Process, command
from benchmarks.peers.peer import Model, Peer, Session


class Adapter(Peer):
    """One process for each session."""

    def open(self, model: Model | None = None) -> Session:
        return Process(command(), self.limits.seconds, model)

    def versions(self) -> dict[str, str]:
        return {"CPython": platform.python_version()}
