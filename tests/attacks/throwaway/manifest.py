"""What a machine is like, written down so that two looks can be compared: files, mounts, processes, names, clock.

A throwaway world looks at itself from its first process, before and after an attack. Everything is read again each
time: an attack may set the times of what it wrote.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import signal
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rlm_secure.testing.arena import build

#: Where everybody may leave files: their entries are compared, their own times and sizes say nothing.
SHARED = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue")
#: Whose files are looked at: the world's root, and what its message queues look like.
_TOPS = ("/", "/dev/mqueue")
#: keyctl(2)
KEYCTL = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
KEYRINGS = {"the session's keyring": -3, "the user's keyring": -4, "the keyring of the user's sessions": -5}
_KEYCTL_READ = 11
#: The two clocks are read one after the other, on a machine that may be busy.
CLOCK_TOLERANCE = 0.05
_MOST_BYTES = 16 << 20
#: Kernel settings that change by themselves.
_RESTLESS = (
    "ns_last_pid", "random/", "file-nr", "inode-nr", "inode-state", "dentry-state", "aio-nr", "pty/nr", "quota/",
    "stat_refresh", "nf_conntrack_count", "perf_event_max_sample_rate",
)  # fmt: skip
#: What an attack could do to a process of somebody else's without ending it.
_OF_A_PROCESS = ("oom_score_adj", "cgroup", "limits", "loginuid", "cpuset", "timerslack_ns", "coredump_filter")
_OF_STATUS = ("Name", "TracerPid", "Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Cpus_allowed")
#: The fields of /proc/PID/stat that are its process group, its session, and how it is scheduled.
_OF_STAT = {"group": 2, "session": 3, "priority": 15, "nice": 16, "realtime": 37, "scheduler": 38}


class Kind(StrEnum):
    """One part of a machine; a change is named by it."""

    FILES = "files"
    LEFTOVERS = "leftovers"
    MOUNTS = "mounts"
    PROCESSES = "processes"
    NAMES = "names"
    CLOCK = "clock"
    IPC = "ipc"
    KEYS = "keys"
    SWAP = "swap"
    SETTINGS = "settings"
    NETWORK = "network"


Look = dict[Kind, dict[str, Any]]


@dataclass(frozen=True)
class Lookout:
    """Looks at the machine. What in SHARED has `tag` in its name is `planted`, or it is left behind."""

    tag: str
    planted: Collection[str]

    def look(self, *, without: Collection[int]) -> Look:
        """Everything, now; no process of `without`."""
        return {
            Kind.NAMES: {"host name": os.uname().nodename, "domain name": _text("/proc/sys/kernel/domainname").strip()},
            Kind.CLOCK: clock(),
            Kind.IPC: {f"{name} {row}": True for name in ("shm", "msg", "sem") for row in _rows(f"sysvipc/{name}", 4)},
            Kind.KEYS: dict.fromkeys(_keys(), True),
            Kind.SWAP: dict.fromkeys(_rows("swaps", 3), True),
            Kind.SETTINGS: dict(_settings()),
            Kind.NETWORK: dict(_network()),
            **self.glance(without=without),
        }

    def glance(self, *, without: Collection[int]) -> Look:
        """What cleaning up has to do with."""
        return {
            Kind.FILES: {path: each for top in _TOPS for path, each in _tree(top, self._named())},
            Kind.LEFTOVERS: {path: True for path in self._named() if path not in self.planted},
            Kind.MOUNTS: dict(_mounts()),
            Kind.PROCESSES: {str(pid): about for pid, about in _processes() if pid not in without},
        }

    def _named(self) -> set[str]:
        there = filter(os.path.isdir, SHARED)  # an attack may take them away
        return {f"{place}/{name}" for place in there for name in os.listdir(place) if self.tag in name}


def clock() -> dict[str, float]:
    """The time of day, less the time since the start."""
    return {"clock": time.time() - time.monotonic()}


def changes(before: Look, after: Look) -> list[tuple[Kind, str]]:
    """What is not as it was, in words."""
    found = []
    for kind in after:
        for name in sorted({*before[kind], *after[kind]}):
            was, now = before[kind].get(name), after[kind].get(name)
            if was != now and not (kind is Kind.CLOCK and abs(was - now) < CLOCK_TOLERANCE):
                found.append((kind, f"{name}: {_difference(was, now)}"))
    return found


def _difference(was: Any, now: Any) -> str:
    if was is None or now is None:
        return "gone" if now is None else "new"
    if isinstance(was, dict):
        return ", ".join(f"{key} was {was[key]!r} and is {now.get(key)!r}" for key in was if was[key] != now.get(key))
    return f"was {was!r} and is {now!r}"


# -- files ------------------------------------------------------------------------------------------


def _tree(top: str, without: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every path from `top` on, on its own file system; what is mounted there is in the table of mounts."""
    device = os.lstat(top).st_dev if os.path.lexists(top) else None
    ahead = [top]
    while ahead:
        path = ahead.pop()
        with contextlib.suppress(FileNotFoundError):
            about = os.lstat(path)
            if about.st_dev != device:
                continue
            yield path, _file(path, about)
            if stat.S_ISDIR(about.st_mode):
                below = (f"{path.rstrip('/')}/{name}" for name in os.listdir(path))
                ahead += [each for each in below if each not in without]


def _file(path: str, about: os.stat_result) -> dict[str, Any]:
    entry: dict[str, Any] = {"mode": oct(about.st_mode), "owner": (about.st_uid, about.st_gid), "device": about.st_rdev}
    if path not in SHARED:
        entry |= {"modified": about.st_mtime_ns, "changed": about.st_ctime_ns, "links": about.st_nlink}
    if stat.S_ISLNK(about.st_mode):
        entry["target"] = os.readlink(path)
    if stat.S_ISREG(about.st_mode):
        entry |= {"size": about.st_size, "content": _digest(path)}
    with contextlib.suppress(OSError):  # a file system without them
        names = os.listxattr(path, follow_symlinks=False)
        entry["attributes"] = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return entry


def _digest(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return hashlib.sha256(os.pread(descriptor, _MOST_BYTES, 0)).hexdigest()
    finally:
        os.close(descriptor)


def _mounts() -> Iterator[tuple[str, str]]:
    for line in _lines("/proc/self/mountinfo"):
        number, _, _, root, point, *_ = line.split(" ")
        yield f"{point} (mount {number}, of {root})", line


# -- processes --------------------------------------------------------------------------------------


def pids() -> frozenset[int]:
    """Every process of this world."""
    return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())


def _processes() -> Iterator[tuple[int, dict[str, Any]]]:
    for pid in pids():
        with contextlib.suppress(OSError):
            yield pid, _process(f"/proc/{pid}")


def _process(directory: str) -> dict[str, Any]:
    fields = _text(f"{directory}/stat").rpartition(") ")[2].split()
    state = {"T": "stopped", "t": "traced", "Z": "dead", "X": "dead"}.get(fields[0], "alive")
    lines = [line.partition(":") for line in _lines(f"{directory}/status")]
    # On a busy machine, who was sent a signal has not always taken it yet.
    pending = 0
    for name, _, value in lines:
        pending |= int(value, 16) if name in ("SigPnd", "ShdPnd") else 0
    for number, then in ((signal.SIGSTOP, "stopped"), (signal.SIGKILL, "dead")):
        state = then if pending >> (number - 1) & 1 else state
    about = {"command": _text(f"{directory}/cmdline"), "state": state}
    about |= {name: fields[index] for name, index in _OF_STAT.items()}
    about |= {name: _text(f"{directory}/{name}") for name in _OF_A_PROCESS if os.path.exists(f"{directory}/{name}")}
    return about | {name: value.strip() for name, _, value in lines if name in _OF_STATUS}


# -- the rest of the kernel -------------------------------------------------------------------------


def _settings() -> Iterator[tuple[str, bytes]]:
    for directory, _, names in os.walk("/proc/sys"):
        for path in (f"{directory}/{name}" for name in names):
            if not any(word in path for word in _RESTLESS):
                with contextlib.suppress(OSError):  # some can be written only
                    yield path, _setting(path)


def _setting(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)  # there are 800 of them: open() would take three times as long
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _keys() -> Iterator[str]:
    """What is in the keyrings that outlive a process. /proc/keys would also show those of other worlds."""
    for name, number in KEYRINGS.items():
        serials = (ctypes.c_int32 * 1024)()
        size = build._libc.syscall(KEYCTL, _KEYCTL_READ, number, serials, ctypes.sizeof(serials))
        yield from (f"{name} holds {serial}" for serial in serials[: max(size, 0) // 4])


def _network() -> Iterator[tuple[str, str]]:
    for line in _lines("/proc/net/dev", head=2):
        yield line.partition(":")[0].strip(), "interface"
    for name in ("route", "fib_trie", "if_inet6", "arp"):
        yield name, "\n".join(_lines(f"/proc/net/{name}"))


def _rows(name: str, columns: int) -> list[str]:
    """The first columns of a table in /proc; the others change by themselves."""
    return [" ".join(line.split()[:columns]) for line in _lines(f"/proc/{name}", head=1)]


def _lines(path: str, head: int = 0) -> list[str]:
    """The lines of a table of the kernel without its head; none where the kernel has no such table."""
    return _text(path).splitlines()[head:] if os.path.exists(path) else []


def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="backslashreplace")
