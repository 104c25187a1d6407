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
from tests.attacks.throwaway.build import ROOT
from tests.attacks.throwaway.manifest import pids

_LIMITS = {
    "RLIMIT_CPU": 40, "RLIMIT_DATA": 2 << 30, "RLIMIT_FSIZE": 1 << 30, "RLIMIT_NPROC": 128, "RLIMIT_CORE": 0,
}  # fmt: skip
_BOUNDS = Bounds()
#: The exit status of a process that got to the end of its attack.
_FINISHED = 77
_SWEEP_SECONDS = 5.0
_LAST_WORDS = 400


class Unkillable(Exception):
    """Something of an attack is still there."""


def run(cells: Sequence[str], seconds: float, target: Target, scratch: Path) -> tuple[str, str]:
    """How the process that ran `cells` ended, and what it said last. It has `scratch` for a directory.

    "finished" is what went well: all cells ran, and their leavings were looked at. Then there is "status N", when it
    ended itself or was made to exit, "signal N", and "overdue", when it was still there after `seconds`.
    """
    ours, theirs = socket.socketpair()
    reader, writer = os.pipe()
    host = os.fork()
    if host == 0:
        _host(cells, target, scratch, theirs.fileno(), writer)
    theirs.close()
    os.close(writer)
    try:
        return _watch(host, reader, ours.fileno(), time.monotonic() + seconds)
    finally:
        ours.close()
        os.close(reader)


def end(keepers: Collection[int]) -> None:
    """Kill every process of this world but `keepers`. Raises Unkillable."""
    deadline = time.monotonic() + _SWEEP_SECONDS
    while others := pids() - set(keepers):
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > deadline:
            raise Unkillable(f"these processes cannot be killed: {sorted(others)}")
        time.sleep(0.001)


# -- watching ---------------------------------------------------------------------------------------


def _watch(host: int, output: int, channel: int, deadline: float) -> tuple[str, str]:
    """Hear what the attack says until its host ends or its time does."""
    died, said = os.pidfd_open(host), b""
    with selectors.DefaultSelector() as selector:
        for source in (died, output, channel):
            selector.register(source, selectors.EVENT_READ)
        try:
            while (left := deadline - time.monotonic()) > 0:
                ready = {key.fd for key, _ in selector.select(left)}
                for source in ready - {died}:
                    chunk = _read(source)
                    said = (said + chunk)[-_LAST_WORDS:] if source == output else said
                    if not chunk:
                        selector.unregister(source)
                if ready == {died}:  # and nothing is left to be heard
                    return _ending(os.waitstatus_to_exitcode(os.waitpid(host, 0)[1])), _decoded(said)
        finally:
            os.close(died)
    return "overdue", _decoded(said)


def _decoded(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except ConnectionResetError:
        return b""


def _ending(status: int) -> str:
    if status == _FINISHED:
        return "finished"
    return f"signal {-status if status < 0 else status - 128}" if status < 0 or status > 128 else f"status {status}"


# -- running ----------------------------------------------------------------------------------------


def _host(cells: Sequence[str], target: Target, scratch: Path, channel: int, writer: int) -> NoReturn:
    """What runs the cells: it forks for them, and ends as they did. Both are the attack's to destroy."""
    status = 1
    try:
        os.setsid()
        job = _job(cells, target.facts("".join(cells), _BOUNDS), scratch)
        _stand_alone(target, channel, writer)
        if runner := os.fork():
            ended = os.waitstatus_to_exitcode(os.waitpid(runner, 0)[1])
            status = ended if ended >= 0 else 128 - ended
        else:
            os.chdir(scratch)
            launch._own_mounts = lambda: None  # what it mounts is to be seen
            launch.main(str(job))
            status = _FINISHED
    except BaseException as error:
        status = _FINISHED if isinstance(error, Exception) else 1  # that of a naive host who looks at what is left
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:_LAST_WORDS])
    finally:
        os._exit(status)  # nothing that the world's first process has open is this one's to clean up


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


def _job(sources: Sequence[str], facts: dict[str, Any], scratch: Path) -> Path:
    """What launch.py is told."""
    cells = []
    for index, source in enumerate(sources):
        path = scratch / f"cell_{index}.py"
        path.write_bytes(source.encode("utf-8", "surrogatepass"))
        cells.append(str(path))
    prelude = str(ROOT / "sandboxes" / "attacks" / "_prelude.py")
    job = scratch / "job.json"
    told = {"cells": cells, "facts": facts, "prelude": prelude, "channel": 3, "begun": None, "limits": _LIMITS}
    job.write_text(json.dumps(told))
    return job
