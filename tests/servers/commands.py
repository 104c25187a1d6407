"""Runs `rlm-secure` commands as a user does, in a process for each, without importing everything a second time.

`python -m tests.servers.commands FD` has imported what commands use, and forks for each command that it is sent: that
process has the arguments, variables, directory and streams of the command, runs `rlm_secure.__main__`, and ends as any
other. Imports are two thirds of the processor time of a command that has little to do. What a test asks of the start
itself, of signals or of a terminal runs in a process that is started as usual.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import rlm_secure

#: Bytes of one request: arguments and variables.
LARGEST = 1 << 20
#: Not on the host, or too heavy for the few commands that use them: what commands import late, they import late here, too.
LEFT_OUT = ("rlm_secure.guest.", "rlm_secure.__main__", "rlm_secure.clouds.")


def run(
    command: Sequence[str | Path],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    cwd: Path | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[bytes]:
    """`rlm-secure COMMAND...`: its exit code, stdout and stderr, as subprocess.run has them. Raises what that raises."""
    words = [str(each) for each in command]
    if _python(env) != _python(os.environ):  # these are read as an interpreter starts
        whole = [sys.executable, "-m", "rlm_secure", *words]
        return subprocess.run(whole, input=stdin, env=dict(env), cwd=cwd, timeout=timeout, capture_output=True)
    return _asked({"command": words}, stdin, env, cwd, timeout)


def run_file(
    path: Path, *arguments: str, env: Mapping[str, str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """`python FILE ARGUMENT...`, likewise: a program that uses the package."""
    return _asked({"file": str(path), "command": arguments}, b"", env, cwd, timeout)


def _asked(
    what: dict[str, object], stdin: bytes, env: Mapping[str, str], cwd: Path | None, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    with _one_at_a_time, ExitStack() as files:
        streams = given, out, err = [files.enter_context(open(os.memfd_create(name), "w+b")) for name in ("in", "out", "err")]
        given.write(stdin)
        given.seek(0)
        request = what | {"env": dict(env), "cwd": str(cwd or Path.cwd())}
        server = _server()
        server.settimeout(None)
        socket.send_fds(server, [json.dumps(request).encode()], [each.fileno() for each in streams])
        pid = int(server.recv(64))
        server.settimeout(timeout)
        try:
            code = int(server.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            server.settimeout(None)
            server.recv(64)
            raise subprocess.TimeoutExpired(str(what), timeout) from None
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(str(what), code, out.read(), err.read())


def _python(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


_one_at_a_time = threading.Lock()


@functools.cache
def _server() -> socket.socket:
    """A connection to a server of this process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.servers.commands", str(theirs.fileno())]
        subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    return ours


def _load() -> None:
    for found in pkgutil.walk_packages(rlm_secure.__path__, "rlm_secure."):
        if not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)
    importlib.import_module("openai")
    assert threading.active_count() == 1, "a process with threads may not be forked"
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> str | None:
    """Fork for each request. Returns in the process that is to run it, with the file of a program or None for a command.

    The server itself does not return.
    """
    _load()
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 3)
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
    for stream, each in enumerate(descriptors):
        os.dup2(each, stream)
        os.close(each)
    request = json.loads(data)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    file: str | None = request.get("file")
    sys.argv = [file or "rlm-secure", *request["command"]]
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    return file


if __name__ == "__main__":
    program = _serve(socket.socket(fileno=int(sys.argv[1])))
    if program:
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module("rlm_secure", run_name="__main__", alter_sys=True)
