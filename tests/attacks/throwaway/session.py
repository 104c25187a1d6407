"""One attack as root in plain exec(): a process that runs its cells as launch.py does, and what becomes of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rlm_secure.testing import launch
from rlm_secure.testing.target import Bounds, Target
from tests.attacks.throwaway import manifest
from tests.attacks.throwaway.build import ROOT

_LIMITS = {
    "RLIMIT_CPU": 10, "RLIMIT_DATA": 2 << 30, "RLIMIT_FSIZE": 1 << 30, "RLIMIT_NPROC": 128, "RLIMIT_CORE": 0,
}  # fmt: skip
_BOUNDS = Bounds()
#: The exit status of an attack's process that got to its end.
_FINISHED = 77
_SWEEP_SECONDS = 5.0
_LAST_WORDS = 400


def _run(asked: dict[str, Any], target: Target, scratch: Path) -> tuple[str, str]:
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    host = os.fork()
    if host == 0:
        _host(asked, target, scratch, theirs.fileno(), writer)
    theirs.close()
    os.close(writer)
    said = bytearray()
    try:
        ended = _watch(host, reader, ours, said, time.monotonic() + asked["seconds"])
    finally:
        ours.close()
        os.close(reader)
    return ended, said.decode("utf-8", "replace")


def _watch(host: int, output: int, channel: socket.socket, said: bytearray, deadline: float) -> str:
    """Hear what the attack says until its host ends or its time does; how that went."""
    died = os.pidfd_open(host)
    with selectors.DefaultSelector() as selector:
        for source in (died, output, channel.fileno()):
            selector.register(source, selectors.EVENT_READ)
        try:
            while time.monotonic() < deadline:
                for key, _ in selector.select(max(deadline - time.monotonic(), 0)):
                    if key.fd == died:
                        return _ending(os.waitstatus_to_exitcode(os.waitpid(host, 0)[1]))
                    chunk = _read(key.fd)
                    if not chunk:
                        selector.unregister(key.fd)
                    elif key.fd == output:
                        said[:] = (said + chunk)[-_LAST_WORDS:]
        finally:
            os.close(died)
    return "overdue"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except ConnectionResetError:
        return b""


def _ending(status: int) -> str:
    if status == _FINISHED:
        return "finished"
    return f"signal {-status if status < 0 else status - 128}" if status < 0 or status > 128 else f"status {status}"


def _host(asked: dict[str, Any], target: Target, scratch: Path, channel: int, writer: int) -> NoReturn:
    """What runs the cells: it forks for them, and ends as they did. Both are the attack's to destroy."""
    try:
        os.setsid()
        job = _job(asked, target.facts("".join(asked["cells"]), _BOUNDS), scratch)
        _stand_alone(target, channel, writer)
        cells = os.fork()
        if cells:
            status = os.waitstatus_to_exitcode(os.waitpid(cells, 0)[1])
            os._exit(status if status >= 0 else 128 - status)
        os.chdir(scratch)
        launch.main(str(job))
        os._exit(_FINISHED)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:_LAST_WORDS])
        os._exit(_FINISHED if isinstance(error, Exception) else 1)


def _stand_alone(target: Target, channel: int, writer: int) -> None:
    """Hold nothing but what a naive host gives its session: output, a channel, and the descriptor to be read."""
    given = {0: os.open("/dev/null", os.O_RDONLY), 1: writer, 2: writer, 3: channel}
    high = {number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for number, descriptor in given.items()}
    for number, descriptor in high.items():
        os.dup2(descriptor, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (*given, target.descriptor):
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(int(name))
    os.environ.clear()
    os.environ.update({"PATH": os.defpath, "LC_ALL": "C.UTF-8", **target.environment})


def _job(asked: dict[str, Any], facts: dict[str, Any], scratch: Path) -> Path:
    """What launch.py is told."""
    cells = []
    for index, source in enumerate(asked["cells"]):
        path = scratch / f"cell_{index}.py"
        path.write_bytes(source.encode("utf-8", "surrogatepass"))
        cells.append(str(path))
    prelude = str(ROOT / "sandboxes" / "attacks" / "_prelude.py")
    job = scratch / "job.json"
    job.write_text(json.dumps({"cells": cells, "facts": facts, "prelude": prelude, "channel": 3, "limits": _LIMITS}))
    return job


def _sweep(keepers: frozenset[int]) -> None:
    """Kill whatever the attack left running."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    while others := manifest.pids() - keepers:
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            raise SystemExit(f"these cannot be killed: {others}")
        time.sleep(0.001)
