"""Runs the program that parses a table as read.py does, in a process for each file, without loading a parser again.

`python parsers.py FD CHILD KIND FOLDER...` has loaded the parser of one kind of files, and forks for each: that process
is the leader of a session of its own, has the file and the pipe, and runs the main() of CHILD, which limits and seals
itself as ever. Loading pandas is nine tenths of the processor time of a small file. What a test asks of the process
itself, of how it starts or of its memory, is asked of one that is started as usual.

It imports the standard library alone: the server runs without site-packages, as CHILD does.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import select
import socket
import subprocess
import sys
from typing import IO, Any

#: A process with threads may not be forked; CHILD itself says as much before it loads a parser.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Forked:
    """What read.py needs of a subprocess.Popen."""

    def __init__(self, ended: socket.socket, stdout: IO[bytes]) -> None:
        self._ended, self.stdout = ended, stdout
        self.pid = int(ended.recv(64))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self._ended.settimeout(timeout)
            try:
                self.returncode = int(self._ended.recv(64))
            except TimeoutError:
                raise subprocess.TimeoutExpired("a parser", timeout or 0.0) from None
            self._ended.close()
        return self.returncode


def instead(module: Any) -> None:
    """Have `module`, which is read.py, start its processes so from now on; but for Parquet, whose parser has threads."""
    started, own = module._started, module.__file__

    def forked(arguments: list[str], descriptor: int) -> Any:
        if arguments[0] == "parquet" or module.__file__ != own or not os.path.exists(sys.executable):
            return started(arguments, descriptor)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reading, writing = os.pipe()
        child = os.path.join(os.path.dirname(own), "child.py")
        request = "\0".join(arguments).encode()
        with theirs, open(writing, "wb"):
            socket.send_fds(server(child, arguments[0], *arguments[10:]), [request], [descriptor, writing, theirs.fileno()])
        return Forked(ours, open(reading, "rb", 0))

    module._started = forked


@functools.cache
def server(child: str, kind: str, *folders: str) -> socket.socket:
    """A connection to a server that has loaded the parser of one kind, and ends when nobody has the connection any more."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", __file__, str(theirs.fileno()), child, kind, *folders]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd="/", env=ONE_THREAD)
    atexit.register(process.wait)  # handlers run in reverse order: the socket is closed first
    atexit.register(ours.close)
    return ours


def _loaded(child: str, kind: str, folders: list[str]) -> Any:
    """The module `child`, with its parser; what main() does again costs nothing the second time."""
    spec = importlib.util.spec_from_file_location("child", child)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path += folders
    module._load(kind)
    del sys.path[-len(folders) :]
    assert len(os.listdir("/proc/self/task")) == 1, "a process with threads may not be forked"
    return module


def _serve(connection: socket.socket) -> list[str]:
    """Fork for each request; returns its arguments in the process that is to parse, which has its streams."""
    running: dict[int, tuple[int, socket.socket]] = {}
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in running:
                poll.unregister(ready)
                os.close(ready)
                pid, told = running.pop(ready)
                with told, contextlib.suppress(BrokenPipeError):
                    told.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                continue
            data, given, _, _ = socket.recv_fds(connection, 1 << 20, 3)
            if not data:
                os._exit(0)
            if (pid := os.fork()) == 0:
                os.setsid()
                for stream, each in enumerate((given[0], given[1], os.open(os.devnull, os.O_WRONLY))):
                    os.dup2(each, stream)
                os.closerange(3, 1 << 16)
                return data.decode().split("\0")
            told = socket.socket(fileno=given.pop())
            told.send(b"%d" % pid)
            for each in given:
                os.close(each)
            running[pidfd := os.pidfd_open(pid)] = pid, told
            poll.register(pidfd, select.POLLIN)


if __name__ == "__main__":
    parser = _loaded(sys.argv[2], sys.argv[3], sys.argv[4:])
    asked = _serve(server_end := socket.socket(fileno=int(sys.argv[1])))
    server_end.detach()  # it is closed
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")
    parser.main(asked)
