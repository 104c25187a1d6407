"""Programs that run in forks of a process which has imported what they use, so that no program imports it again.

`Server` is the side of a test: it starts that process, and runs a program in it as subprocess.run would. `serve` is the
side of the process: it forks for each program. Only the standard library is imported here, and nothing of ours: a fork
may still have to become another system before it imports that.
"""

from __future__ import annotations

import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any


class Server:
    """A process that runs `python COMMAND... FD`, which calls serve(). It ends with this process. Thread-safe."""

    def __init__(self, *command: str | Path, env: Mapping[str, str] | None = None) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, *command, str(theirs.fileno())]
            self._process = subprocess.Popen(words, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self._one_at_a_time = threading.Lock()

    def run(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        timeout: float,
        stdin: bytes = b"",
        **more: object,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program in a fork whose sys.argv is `arguments`; serve() returns `more` there. Raises TimeoutExpired."""
        request = {"arguments": arguments, "env": dict(env), "cwd": str(cwd), "more": more}
        with self._one_at_a_time, ExitStack() as files:
            names = ("request", "in", "out", "err")
            asked, given, out, err = [files.enter_context(open(os.memfd_create(name), "w+b")) for name in names]
            for file, data in ((asked, json.dumps(request).encode()), (given, stdin)):
                file.write(data)
                file.seek(0)
            server = self._connection
            server.settimeout(None)
            socket.send_fds(server, [b"run"], [each.fileno() for each in (asked, given, out, err)])
            pid = int(server.recv(64))
            server.settimeout(timeout)
            try:
                code = int(server.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                server.settimeout(None)
                server.recv(64)
                raise subprocess.TimeoutExpired(list(arguments), timeout) from None
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def serve(connection: socket.socket) -> dict[str, Any]:
    """Fork for each program that Server.run() sends; call it when everything is imported.

    Returns in the fork, which has the program's arguments, variables, directory and streams, and returns `more` of run().
    The server itself does not return.
    """
    threads = os.listdir("/proc/self/task")
    assert threads == [str(os.getpid())], "a process with threads may not be forked"
    gc.collect()
    gc.freeze()
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, 16, 4)
        if not data:
            os._exit(0)
        if (pid := os.fork()) == 0:
            break
        for each in descriptors:
            os.close(each)
        connection.send(b"%d" % pid)
        _, status = os.waitpid(pid, 0)
        connection.send(b"%d" % os.waitstatus_to_exitcode(status))
    connection.close()
    asked, *streams = descriptors
    with open(asked, "rb") as file:
        request: dict[str, Any] = json.load(file)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = list(request["arguments"])
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    more: dict[str, Any] = request["more"]
    return more
