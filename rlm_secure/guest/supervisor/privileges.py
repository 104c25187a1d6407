"""What a supervisor gives up when its zygote runs and its sockets are open: root, files, programs, networks.

It keeps its sockets, its memory files, the leash of its worker, and /proc to read, where it looks at that. What it has
given up it tries, before any untrusted code is there.

Guards: what is left to who takes a supervisor over
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


def hand_over(where: str | list[Any], uid: int | None) -> None:
    """Let `uid` alone connect to our socket at a path: who dials as root becomes that one first (dial.py)."""
    if isinstance(where, str) and uid is not None and os.getuid() == 0:
        with contextlib.suppress(OSError):  # root without the right to: who dials it stays root as well
            os.chown(where, uid, uid)
            os.chmod(os.path.dirname(where), 0o711)


def drop(own: dict[str, Any], *, connects: bool, signals: bool) -> dict[str, Any]:
    """Seal the calling supervisor. Returns what it then tried: closed facts, of which none is required here.

    `own` is its part of the configuration: `uid` (whom it becomes where it is root; None: it stays), `landlock`, and
    `filter`, a program in hexadecimal or None. `connects`: it makes connections to a named socket. `signals`: its
    zygote is of its own uid, and its workers are signalled by itself.
    """
    facts: dict[str, Any] = {"privileges": _said(lambda: _leave_root(own["uid"]))}
    seal.set_dumpable(False)  # the key is in this memory: not for ptrace, not for /proc/PID/mem
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
            with contextlib.suppress(OSError):  # without the capability for it, the set is what it is
                seal.empty_bounding_set()
            seal.become(uid)
    finally:  # root that may become nobody else is root without capabilities
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
    os.execve("/", ["/"], {})  # a directory: without a filter that is EACCES, and no program


def _fork() -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "won"


def _socket() -> str:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    return "won"


#: What a sealed supervisor can no longer do. The host knows how each ends.
ATTEMPTS: dict[str, Callable[[], Any]] = {
    "open a file": _open_file,
    "make a file": _make_file,
    "execve": _execute,
    "fork": _fork,
    "socket": _socket,
}
