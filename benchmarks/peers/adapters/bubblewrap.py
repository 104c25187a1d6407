"""bubblewrap with the usual recipe around the plain worker: namespaces, /usr and the interpreter, no environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.peers.naive import Process, command
from benchmarks.peers.peer import Model, Peer, Session


class Adapter(Peer):
    """It limits neither memory nor processes nor output, and filters no system call."""

    def open(self, model: Model | None = None) -> Session:
        return Process([*walls(), "--", *command()], self.limits.seconds, model)

    def versions(self) -> dict[str, str]:
        said = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=True).stdout
        return {"bubblewrap": said.split()[-1]}


def walls() -> list[str]:
    """The recipe: what there is in the sandbox, and nothing else."""
    recipe = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    recipe += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"]
    recipe += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for top in (Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64")):
        if top.is_symlink():
            recipe += ["--symlink", str(top.readlink()), str(top)]
        elif top.is_dir():
            recipe += ["--ro-bind", str(top), str(top)]
    recipe += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    prefix = Path(sys.base_prefix).resolve()
    if not prefix.is_relative_to("/usr"):
        recipe += ["--ro-bind", str(prefix), str(prefix)]
    return recipe
