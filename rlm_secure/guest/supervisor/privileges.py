"""Drops the supervisor's privileges once its zygote runs and its sockets are open: root, files, programs, networks.

It keeps its sockets, its memory files, the leash of its worker, and read access to /proc, where it watches the worker.
It then tests that it has lost the rest, before any untrusted code runs.

Guards: what an attacker who controls the supervisor can still do
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from ..kernel import seal
from . import surroundings
from .fetch import STORED


def hand_over(where: str | list[Any], uid: int | None) -> None:
    """Make `uid` the owner of our socket at a path, and of a directory beside it from which `dial` sends contexts.

    `dial` changes to that uid (dial.py), so that it can connect, and can remove what it has sent.
    """
    if not isinstance(where, str):
        return
    directory = os.path.dirname(where)
    stored = os.path.join(directory, STORED)
    with contextlib.suppress(OSError):  # no room, or nobody may write there: then contexts come over the stream
        os.mkdir(stored, 0o700)
    if uid is not None and os.getuid() == 0:
        with contextlib.suppress(OSError):  # a root that may not chown: then `dial` stays root as well
            os.chown(where, uid, uid)
            os.chmod(directory, 0o711)
            os.chown(stored, uid, uid, follow_symlinks=False)


def drop(own: dict[str, Any], *, connects: bool, signals: bool) -> dict[str, Any]:
    """Seal the calling supervisor, and return the results of its tests, none of which is required here.

    `own` is its part of the configuration: `uid` (which it takes if it is root; None: it stays root), `landlock`, and
    `filter`, a BPF program in hexadecimal or None. `connects`: it connects to a named socket. `signals`: its zygote has
    the same uid, so that it signals its workers directly.
    """
    facts: dict[str, Any] = {"privileges": _said(lambda: _leave_root(own["uid"]))}
    seal.set_dumpable(False)  # the key is in this memory: neither ptrace nor /proc/PID/mem may read it
    seal.no_new_privs()
    if own["landlock"]:
        facts["landlock"] = _said(lambda: _landlock(connects=connects, signals=signals))
    if own["filter"] is not None:
        facts["filter"] = _said(lambda: _filter(bytes.fromhex(own["filter"])))
    return {**facts, "uids": list(os.getresuid()), **{name: _said(attempt) for name, attempt in ATTEMPTS.items()}}


def _leave_root(uid: int | None) -> str:
    root = os.getuid() == 0
    if root and uid is None:
        return "root, as it was started"
    try:
        if root and uid is not None:
            with contextlib.suppress(OSError):  # without the capability for it, the set cannot be changed
                seal.empty_bounding_set()
            seal.become(uid)
    finally:  # a root that cannot change its uid loses at least its capabilities
        seal.drop_capabilities()
    return "none"


def _landlock(*, connects: bool, signals: bool) -> str:
    without = (*((seal.RESOLVE_UNIX,) if connects else ()), *((seal.SIGNAL,) if signals else ()))
    ruleset, abi = seal.landlock_ruleset(seal.landlock_abi(), *without)
    try:
        for path in ("/proc", *surroundings.CGROUP_EVENTS):
            with contextlib.suppress(FileNotFoundError):
                seal.landlock_allow(ruleset, path, seal.READ_FILE)
        seal.landlock_restrict(ruleset)
    finally:
        os.close(ruleset)
    return f"ABI {abi}"


def _filter(program: bytes) -> str:
    seal.seccomp(program)
    return f"{len(program) // 8} instructions"


def _said(step: Callable[[], Any]) -> str:
    try:
        return str(step())
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "an OSError")


def _open_file() -> str:
    os.close(os.open(sys.executable, os.O_RDONLY))
    return "won"


def _make_file() -> str:
    path = f"/tmp/rlm-secure-{os.getpid()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)
    return "won"


def _execute() -> None:
    os.execve("/", ["/"], {})  # a directory: without a filter this fails with EACCES, and starts nothing


def _fork() -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "won"


def _socket() -> str:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    return "won"


#: What a sealed supervisor can no longer do. The host knows the expected result of each.
ATTEMPTS: dict[str, Callable[[], Any]] = {
    "open a file": _open_file,
    "make a file": _make_file,
    "execve": _execute,
    "fork": _fork,
    "socket": _socket,
}
