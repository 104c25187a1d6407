"""Attempts on the walls, in children that are sealed like sessions: a wall is reported only when it stopped one."""

import errno
import json
import mmap
import os
import socket

from . import walls, wire


def forbidden_call(fd, landlock, program, request):
    """A probe sealed like a session that calls socket(2). Returns only where the filter does not hold."""
    walls.keep_only(fd, landlock)
    walls.build(landlock, program, request)
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def try_everything(fd, landlock, request):
    """A probe with every wall but seccomp: try what the others must stop, and write down what happened."""
    walls.keep_only(fd, landlock)
    walls.build(landlock, None, request)
    outcome = {}
    for what, attempt in ATTEMPTS.items():
        try:
            outcome[what] = f"won: {attempt()!r}"[:100]
        except OSError as error:
            outcome[what] = errno.errorcode.get(error.errno, str(error.errno))
        except _Stopped as stopped:
            outcome[what] = str(stopped)
    os.write(wire.FD, json.dumps(outcome).encode())


class _Stopped(Exception):
    """An attempt found nothing to win."""


def _list_root():
    names = os.listdir("/")
    if not names:
        raise _Stopped("nothing there")
    return names[:3]


def _open_root():
    return os.open("/", os.O_RDONLY | os.O_DIRECTORY)


def _connect():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.2)
        try:
            probe.connect(("127.0.0.1", 9))
        except ConnectionRefusedError:
            return "the loopback device answered"
    return "connected"


def _signal_neighbour():
    os.kill(2, 0)
    return "signalled"


def _map_executable():
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    return "mapped"


def _fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"


ATTEMPTS = {
    "listing /": _list_root,
    "opening /": _open_root,
    "connecting to 127.0.0.1:9": _connect,
    "signalling process 2": _signal_neighbour,
    "mapping memory writable and executable": _map_executable,
    "forking": _fork,
}
#: wall -> the attempt in ATTEMPTS that it must stop
PROBES = {
    "empty-root": "listing /",
    "landlock": "opening /",
    "network-namespace": "connecting to 127.0.0.1:9",
    "pid-namespace": "signalling process 2",
    "memory-deny-write-execute": "mapping memory writable and executable",
    "rlimits": "forking",
}
