"""Who made a sandbox, as a label on it: so that what a dead process left behind can be told from what is in use."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Final

_PID_DIGITS: Final = 10


def owner() -> str:
    """This process: its machine's boot and PID namespace (hashed), its id in there, and when it started."""
    return f"{_realm()}-{os.getpid()}-{_started(os.getpid())}"


def is_orphan(label: str) -> bool:
    """Whether the process of an `owner()` ran on this machine, since it booted, and is gone.

    Of other machines, of earlier boots, and of other PID namespaces (a container's, an arena's) nothing is known: what
    they left ends by its time to live.
    """
    realm, _, process = label.partition("-")
    pid, _, started = process.partition("-")
    named = pid.isascii() and pid.isdigit() and len(pid) <= _PID_DIGITS
    return realm == _realm() and named and _started(int(pid)) != started


@cache
def _realm() -> str:
    """Where a process id means something: this boot of this machine, and this PID namespace."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        text += str(Path("/proc/self/ns/pid").stat().st_ino).encode("ascii")
    except OSError:
        text = b"unknown"
    return hashlib.sha256(text).hexdigest()[:16]


def _started(pid: int) -> str:
    """When process `pid` started, in the kernel's ticks; "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
