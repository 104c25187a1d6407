"""A sandbox in gVisor, as Modal's are: another kernel around the same directory, and no network."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rlm_secure.removal import remove
from tests.emulators.base import Program, Sandbox

_OPTIONS = ("--platform=ptrace", "--network=none", "--ignore-cgroups")
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")


class GVisor(Sandbox):
    """The host's files read-only, and the sandbox's own; root in there."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        self._bundle = Path(tempfile.mkdtemp(prefix="gvisor-", dir="/tmp"))
        self._container = self.name
        (self._bundle / "config.json").write_text(json.dumps(self._configuration()))
        self._runsc("run", "--detach", "--bundle", str(self._bundle), self._container)

    def start(self, arguments: list[str], **options: Any) -> Program:
        self.network.close()  # gVisor makes one itself
        inside = ["exec", "--cwd", str(self.home), self._container, *arguments]
        return super().start(["runsc", f"--root={self._bundle}/root", *_OPTIONS, *inside], **options)

    def kill(self) -> None:
        self._runsc("delete", "--force", self._container)
        super().kill()

    def remove(self) -> None:
        super().remove()
        remove(self._bundle)

    def _runsc(self, *arguments: str) -> None:
        command = ["runsc", f"--root={self._bundle}/root", *_OPTIONS, *arguments]
        with (self._bundle / "log").open("w") as log:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=150)
        assert done.returncode == 0, (self._bundle / "log").read_text()

    def _configuration(self) -> dict[str, Any]:
        kinds = ("bounding", "effective", "inheritable", "permitted")
        process = {
            "user": {"uid": 0, "gid": 0},
            "args": ["sleep", "3600"],
            "env": [f"PATH={self.home}/.bin:/usr/local/bin:/usr/bin:/bin", f"HOME={self.home}"],
            "cwd": str(self.home),
            "capabilities": {kind: [f"CAP_{name}" for name in _CAPABILITIES] for kind in kinds},
        }
        own = {"destination": str(self.home), "type": "bind", "source": str(self.home), "options": ["rw"]}
        return {
            "ociVersion": "1.0.0",
            "process": process,
            "root": {"path": "/", "readonly": True},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}, own],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "network", "ipc")]},
        }
