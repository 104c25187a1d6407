"""Environments without walls, to show that an audit can fail. Test-only.

`plain` is a bounded subprocess of plain Python that says of itself what a naive host would believe. `upstream_like`
is the same with the few removed builtins that upstream's local environment has.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys

from rlm_secure.errors import CellException, EnvironmentUnavailable
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.removal import Scratch
from rlm_secure.types import REPLResult

#: They keep the machine safe, not the host.
_PATIENCE = 0.3
_MOST = 32 << 20

# What such environments do: cells in one namespace, by exec, output captured, everything else left open.
_WORKER = """
import json, os, resource, struct, sys, traceback
for name, value in (("DATA", 1 << 30), ("FSIZE", 64 << 20), ("CORE", 0), ("CPU", 20)):
    number = getattr(resource, "RLIMIT_" + name)
    resource.setrlimit(number, (value, value))
names = {"answer": {"content": "", "ready": False}, "context": "the quick brown fox", "llm_query": lambda p, m=None: "ok"}
if sys.argv[1] == "upstream":
    import builtins
    gone = ("eval", "exec", "compile", "input", "globals", "locals")
    names["__builtins__"] = {k: v for k, v in vars(builtins).items() if k not in gone}
names["__name__"] = "__main__"
given = set(names) | {"TARGET", "call", "libc"}
for line in sys.stdin:
    failed = ""
    try:
        exec(json.loads(line), names)
    except Exception as error:
        failed = type(error).__name__ + ": " + str(error)
        traceback.print_exc()
    # As a host in the same process does: the repr of every variable, and the answer.
    shown = {k: repr(v) for k, v in list(names.items()) if not k.startswith("_") and k not in given}
    final = names["answer"]["content"] if names["answer"].get("ready") else None
    sys.stdout.flush()
    sys.stderr.flush()
    frame = json.dumps({"failed": failed, "shown": shown, "final": final}, allow_nan=False).encode()
    os.write(3, struct.pack(">I", len(frame)) + frame) if len(frame) < 60000 else open(3, "wb", closefd=False).write(
        struct.pack(">I", len(frame)) + frame)
"""


class WeakSession:
    """One subprocess of plain Python, as an attack sees a session: its channel is descriptor 3, and is believed."""

    report = EnforcementReport("weak", (WallStatus(Wall.SEPARATE_PROCESS, Level.FULL, "a subprocess"),))

    def __init__(self, policy, kind: str) -> None:
        self._limits = policy.limits
        self._scratch = Scratch()
        folder = self._scratch.path
        (folder / "worker.py").write_text(_WORKER)
        self._wire, theirs = socket.socketpair()
        self._output = (folder / "output").open("w+b", buffering=0)
        fd = theirs.fileno()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(folder / "worker.py"), kind],
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                close_fds=False,  # everything is inherited, as a naive host lets it
                start_new_session=True,
                cwd=folder,
                preexec_fn=lambda: os.dup2(fd, 3),
            )
        self._seen = 0

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        """Run one cell by exec. What the worker says is believed; what ends it ends this host with an untyped error."""
        self._process.stdin.write(json.dumps(code).encode() + b"\n")
        self._process.stdin.flush()
        # A naive host has no deadline; this one gives up when every attack has had its time.
        self._wire.settimeout(self._limits.cell_seconds + self._limits.grace_seconds + _PATIENCE)
        (length,) = struct.unpack(">I", self._exactly(4))
        if length > _MOST:
            raise MemoryError(f"a frame of {length} bytes")
        answer = json.loads(self._exactly(length))
        text = self._new_output()
        error = CellException(answer["failed"]) if answer["failed"] else None
        final = answer["final"] if answer["final"] is None else str(answer["final"])
        return REPLResult(stdout=text, stderr="", locals=answer["shown"], error=error, final_answer=final)

    def close(self) -> None:
        """End the process; what it started stays, as with a naive host."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._wire.close()
        self._output.close()
        self._scratch.remove()

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            chunk = self._wire.recv(min(count - len(data), 1 << 16))
            if not chunk:
                raise EOFError("the worker is gone")
            data += chunk
        return data

    def _new_output(self) -> str:
        self._output.seek(self._seen)
        data = self._output.read(_MOST)
        self._seen += len(data)
        return data.decode("utf-8", "replace")


def _open(policy, kind: str) -> WeakSession:
    try:
        return WeakSession(policy, kind)
    except BlockingIOError as error:  # the machine has no process to give just now
        raise EnvironmentUnavailable(str(error)) from error


def plain(policy) -> WeakSession:
    """Plain exec."""
    return _open(policy, "plain")


def upstream_like(policy) -> WeakSession:
    """exec with a few builtins taken out."""
    return _open(policy, "upstream")


__all__ = ["plain", "upstream_like"]
