"""sandlock around the plain worker: Landlock, a seccomp filter, and a supervisor for what these cannot say."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from sandlock.sandbox import Sandbox, StdioMode

from benchmarks.peers.naive import Naive, command
from benchmarks.peers.peer import Model, Peer, Session

READABLE = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache")


class Adapter(Peer):
    """Read access to /usr and the interpreter, a clean environment, its limits of memory and processes."""

    packages = ("sandlock",)

    def open(self, model: Model | None = None) -> Session:
        readable = [path for path in (*READABLE, os.path.realpath(sys.base_prefix)) if os.path.exists(path)]
        sandbox = Sandbox(
            fs_readable=readable,
            clean_env=True,
            max_memory=self.limits.memory_bytes,
            max_processes=self.limits.processes,
        )
        return Locked(sandbox, self.limits.seconds, model)


class Locked(Naive):
    """The worker behind sandlock."""

    def __init__(self, sandbox: Sandbox, seconds: float, model: Model | None) -> None:
        piped, null = StdioMode.PIPED, StdioMode.NULL
        self._process = sandbox.popen(command(), stdin=piped, stdout=piped, stderr=null)
        self._pid = sandbox.pid
        self._ended = False
        super().__init__(self._process.stdin, self._process.stdout, seconds, model)

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._process.wait()
