"""A label that names the process that made a sandbox, to tell abandoned sandboxes from those in use."""

from __future__ import annotations

import hashlib
import os
import secrets
from functools import cache
from pathlib import Path
from typing import Final

_PID_DIGITS: Final = 10


def owner() -> str:
    """The label of this process: a hash of its machine's boot and PID namespace, its pid there, its start time."""
    return f"{_realm()}-{os.getpid()}-{_started(os.getpid())}"


def is_orphan(label: str) -> bool:
    """Whether the process of an `owner()` label ran on this machine since its boot, and is gone.

    Nothing is known about other machines, earlier boots, other PID namespaces (a container's, an arena's), and about
    processes that /proc hides: their sandboxes end by their time to live.
    """
    realm, _, process = label.partition("-")
    pid, _, started = process.partition("-")
    if realm != _realm() or not started or not (pid.isascii() and pid.isdigit() and 0 < len(pid) <= _PID_DIGITS):
        return False
    now = _started(int(pid))
    return now != started if now else _is_gone(int(pid))


@cache
def _realm() -> str:
    """The scope in which a pid is valid: this boot of this machine, and this PID namespace."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        text += str(Path("/proc/self/ns/pid").stat().st_ino).encode("ascii")
    except OSError:
        text = secrets.token_bytes(16)  # it recognises no label but its own
    return hashlib.sha256(text).hexdigest()[:16]


def _started(pid: int) -> str:
    """When process `pid` started, in the kernel's ticks; "" when it is gone, or hidden."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_gone(pid: int) -> bool:
    """Whether there is no process `pid`: a /proc with hidepid shows no process of another user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        pass
    return False
