"""Tests the walls: children that are sealed like sessions try what each wall must stop.

Guards: that a wall is reported only where it stopped an attempt
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable

from .. import wire
from . import walls

#: mmap(2) of an address, a size, a protection, flags and a file descriptor. Raises OSError.
MapPages = Callable[[int | None, int, int, int, int], int]


def _seal(fd: int, landlock: int | None, program: bytes | None, *, own_namespaces: bool) -> None:
    walls.keep_only(fd, landlock)
    walls.confine(walls.enclose(landlock, own_namespaces=own_namespaces), program, {"NPROC": 0, "NOFILE": 128})


def forbidden_call(fd: int, landlock: int | None, program: bytes, *, own_namespaces: bool) -> None:
    """Call socket(2) in a child that is sealed like a session. Returns only if the filter does not hold."""
    _seal(fd, landlock, program, own_namespaces=own_namespaces)
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def try_everything(fd: int, landlock: int | None, map_pages: MapPages, *, own_namespaces: bool) -> None:
    """Try what every wall but seccomp must stop, in a child that has them all, and write the outcomes to `fd`."""
    _seal(fd, landlock, None, own_namespaces=own_namespaces)
    outcome = {}
    for what, attempt in attempts(map_pages).items():
        try:
            outcome[what] = f"won: {attempt()!r}"[:100]
        except OSError as error:
            outcome[what] = errno.errorcode.get(error.errno or 0, "an OSError")
        except _Stopped as stopped:
            outcome[what] = str(stopped)
    os.write(wire.FD, json.dumps(outcome).encode())


class _Stopped(Exception):
    """A wall stopped an attempt without an OSError."""


def _list_root() -> list[str]:
    names = os.listdir("/")
    if not names:
        raise _Stopped("nothing there")
    return names[:3]


def _open_root() -> int:
    return os.open("/", os.O_RDONLY | os.O_DIRECTORY)


def _connect() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(("127.0.0.1", 9))
        except ConnectionRefusedError:
            return "the loopback device answered"
    return "connected"


def _signal_neighbour() -> str:
    os.kill(2, 0)
    return "signalled"


def _map_executable(map_pages: MapPages) -> str:
    map_pages(None, 4096, 1 | 2 | 4, 0x22, -1)  # read, write, execute; private and anonymous
    return "mapped"


def _fork() -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


def attempts(map_pages: MapPages) -> dict[str, Callable[[], object]]:
    """What a probe tries, by name: a function that returns where it succeeds, and raises where a wall stops it."""
    return {
        "listing /": _list_root,
        "opening /": _open_root,
        "connecting to 127.0.0.1:9": _connect,
        "signalling process 2": _signal_neighbour,
        "mapping memory writable and executable": lambda: _map_executable(map_pages),
        "forking": _fork,
    }


#: wall -> the attempt that it must stop
PROBES = {
    "empty-root": "listing /",
    "landlock": "opening /",
    "network-namespace": "connecting to 127.0.0.1:9",
    "pid-namespace": "signalling process 2",
    "memory-deny-write-execute": "mapping memory writable and executable",
    "rlimits": "forking",
}
