"""Starts tests/clouds/abandoned.py in a process of its own, without importing an SDK anew each time.

`python -m tests.clouds.hosts FD` imports the library, and each provider's SDK when a host needs it first. It forks for
each host: that process has the arguments and streams of the host, runs the program as `__main__`, and ends as any other
does: by its last line, by an exception, or by a signal. Imports are more than half of the processor time of a host.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

PROGRAM = Path(__file__).with_name("abandoned.py")
LIBRARY = ("rlm_secure.sandbox", "rlm_secure.environments.remote", "rlm_secure.environments.cloud.lease", "pyseccomp")
#: What each imports as it is used.
SDKS = {
    "e2b": ("e2b",),
    "daytona": ("daytona", "daytona._async.daytona"),
    "modal": ("modal",),
    "prime": ("prime_sandboxes", "httpcore", "h2.connection", "anyio._backends._asyncio"),
    "kubernetes": ("kubernetes.aio.client", "kubernetes.aio.config"),
}
#: Bytes of one request.
LARGEST = 1 << 16


class Host:
    """A host, as subprocess.Popen has one: the process of `python -m tests.clouds.abandoned NAME OPTIONS HOW`."""

    def __init__(self, name: str, options: dict[str, str], how: str) -> None:
        self._server = _server()
        ends = [os.pipe() for _ in range(3)]
        (given, stdin), (stdout, out), (stderr, err) = ends  # each as who reads it, and who writes
        request = {"name": name, "arguments": [name, json.dumps(options), how], "env": dict(os.environ)}
        socket.send_fds(self._server, [json.dumps(request).encode()], [given, out, err])
        for each in (given, out, err):
            os.close(each)
        self.stdin, self.stdout, self.stderr = open(stdin, "w"), open(stdout), open(stderr)
        self.returncode: int | None = None
        self._server.settimeout(60)
        self.pid = int(self._server.recv(64))

    def send_signal(self, number: int) -> None:
        if self.returncode is None:  # it is not reaped before its end was read here
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = 60) -> int:
        """Its exit code, negative for a signal. Raises TimeoutError."""
        if self.returncode is None:
            self._server.settimeout(timeout)
            self.returncode = int(self._server.recv(64))
            self._server.send(b"heard")
        return self.returncode

    def communicate(self, text: str = "", timeout: float = 60) -> tuple[str, str]:
        """What it says until it ends, after it was told `text`. Raises TimeoutError."""
        if not self.stdin.closed:
            try:
                self.stdin.write(text)
                self.stdin.close()
            except BrokenPipeError:
                pass
        said: dict[io.TextIOBase, str] = {}
        threads = [threading.Thread(target=lambda pipe=pipe: said.update({pipe: pipe.read()})) for pipe in (self.stdout, self.stderr)]
        for thread in threads:
            thread.start()
        try:
            self.wait(timeout)
        except TimeoutError:
            self.kill()
            raise
        finally:
            for thread in threads:
                thread.join(timeout)
        return said[self.stdout], said[self.stderr]

    def close(self) -> None:
        """Kill it, and close its streams."""
        self.kill()
        self.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


@functools.cache
def _server() -> socket.socket:
    """A connection to a server of this process, which ends with it. One host at a time."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.clouds.hosts", str(theirs.fileno())]
        subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    return ours


def _serve(connection: socket.socket) -> list[str]:
    """Fork for each request. Returns, in the process that is to be the host, with its arguments."""
    for name in LIBRARY:
        importlib.import_module(name)
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        importlib.import_module(f"rlm_secure.environments.cloud.{request['name']}")
        for name in SDKS[request["name"]]:
            importlib.import_module(name)
        assert threading.active_count() == 1, "a process with threads may not be forked"
        gc.collect()
        gc.freeze()
        if (pid := os.fork()) == 0:
            break
        for each in descriptors:
            os.close(each)
        connection.send(b"%d" % pid)
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert status is not None
        code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
        connection.send(b"%d" % code)
        connection.recv(64)  # whoever signals it by its number has heard of its end: the number may be used again
        os.waitpid(pid, 0)
    connection.close()
    for stream, each in enumerate(descriptors):
        os.dup2(each, stream)
        os.close(each)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    return [str(PROGRAM), *request["arguments"]]


if __name__ == "__main__":
    sys.argv = _serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_path(str(PROGRAM), run_name="__main__")
