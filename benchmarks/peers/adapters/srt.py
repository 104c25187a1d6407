"""Anthropic's sandbox-runtime around the plain worker, with its default settings and no domains and no writes."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from benchmarks.peers.naive import Process
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
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(SETTINGS, file)
        self._settings = file.name

    def open(self, model: Model | None = None) -> Session:
        program = ["node", str(self._package / "dist" / "cli.js"), "--settings", self._settings]
        return Process(program, self.limits.seconds, model)

    def versions(self) -> dict[str, str]:
        return {"sandbox-runtime": json.loads((self._package / "package.json").read_text(encoding="utf-8"))["version"]}

    def close(self) -> None:
        Path(self._settings).unlink(missing_ok=True)
