"""Anthropic's sandbox-runtime around the plain worker, with its default settings and no domains and no writes."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from pathlib import Path

from benchmarks.peers.naive import Process, command
from benchmarks.peers.peer import Limits, Model, Peer, Session

SETTINGS = {
    "network": {"allowedDomains": [], "deniedDomains": []},
    "filesystem": {"denyRead": [], "allowRead": [], "allowWrite": [], "denyWrite": []},
}


class Adapter(Peer):
    """`srt` starts bubblewrap and its proxies for each session. It limits no resource."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._package = Path(os.environ["SRT_PACKAGE"])
        self._settings = Path(tempfile.gettempdir(), f"srt-settings-{os.getpid()}.json")

    def open(self, model: Model | None = None) -> Session:
        self._settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
        program = ["node", str(self._package / "dist" / "cli.js"), "--settings", str(self._settings), "-c"]
        return Process([*program, shlex.join(command())], self.limits.seconds, model)

    def versions(self) -> dict[str, str]:
        return {"sandbox-runtime": json.loads((self._package / "package.json").read_text(encoding="utf-8"))["version"]}

    def close(self) -> None:
        self._settings.unlink(missing_ok=True)
