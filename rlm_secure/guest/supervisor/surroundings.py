"""Tests what the sandbox around the supervisor allows, before any untrusted code runs."""

from __future__ import annotations

import errno
import os
import re
import resource
import socket
from collections.abc import Callable, Sequence
from typing import Any

from ..kernel import seal

CGROUP_EVENTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_CGROUP_MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_CGROUP_PIDS = ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
_APPARMOR = ("/proc/self/attr/apparmor/current", "/proc/self/attr/current")
#: The metadata service of every cloud, a public address of each family, and what Docker calls the host.
_ADDRESSES = (("169.254.169.254", 80), ("1.1.1.1", 53), ("2606:4700:4700::1111", 53), ("172.17.0.1", 2375))
_CONNECT_SECONDS = 0.3
#: Limits per process that are reported, by the names that container engines use for them.
_LIMITS = {
    "core": resource.RLIMIT_CORE, "fsize": resource.RLIMIT_FSIZE, "memlock": resource.RLIMIT_MEMLOCK,
    "nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC,
}  # fmt: skip


def describe(masked: Sequence[str], readonly: Sequence[str]) -> dict[str, Any]:
    """Facts about this sandbox, with fixed keys. PROTOCOL.md lists what is tested, under `POST /session`.

    `masked` are paths that should show nothing, `readonly` those that should be mounted read-only.
    """
    status = _read("/proc/self/status")
    no_new_privs, seccomp = seal.confinement()
    return {
        "uid": os.getuid(),
        "capabilities": _field(status, "CapEff"),
        "bounding": _field(status, "CapBnd"),
        "no_new_privs": no_new_privs,
        "seccomp": seccomp,
        "kernel": os.uname().release,
        "interfaces": _interfaces(),
        "connect": {_named(host, port): _connect(host, port) for host, port in (*_ADDRESSES, *_cluster())},
        "write_root": _attempt(_write_root),
        "write_sysctl": _attempt(_write_sysctl),
        "memory_max": _first(_CGROUP_MEMORY),
        "pids_max": _first(_CGROUP_PIDS),
        "cgroup_namespace": _cgroup_namespace(),
        "apparmor": _first(_APPARMOR),
        "unmasked": [path for path in masked if _shows(path)],
        "writable": [path for path in readonly if _writable(path)],
        "limits": {name: resource.getrlimit(kind)[1] for name, kind in _LIMITS.items()},
    }


def oom_kills() -> int | None:
    """How often the kernel killed a process here because memory ran out; None where it does not report it."""
    for path in CGROUP_EVENTS:
        found = re.search(r"^oom_kill (\d+)$", _read(path), re.MULTILINE)
        if found:
            return int(found[1])
    return None


def _interfaces() -> list[str]:
    try:
        return sorted(os.listdir("/sys/class/net"))
    except OSError:
        return []


def _cluster() -> list[tuple[str, int]]:
    """The address of a cluster's API, which Kubernetes tells every container."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "")
    return [(host, int(port))] if host and re.fullmatch("[0-9]{1,5}", port) else []


def _named(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _connect(host: str, port: int) -> str:
    def connect() -> None:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            probe.connect((host, port))

    return _attempt(connect)


def _write_root() -> None:
    path = f"/rlm-secure-{os.getpid()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)


def _write_sysctl() -> None:
    # Write back the value that was read: if this succeeds, nothing changes.
    path = "/proc/sys/kernel/hostname"
    value = _read(path)
    with open(path, "w") as file:
        file.write(value)


def _cgroup_namespace() -> str:
    """Whether the caller is at the root of each cgroup hierarchy that it sees, as in its own cgroup namespace."""
    paths = {line.split(":", 2)[2] for line in _read("/proc/self/cgroup").splitlines() if line.count(":") >= 2}
    return "unknown" if not paths else "own" if paths == {"/"} else "shared"


def _shows(path: str) -> bool:
    """Whether `path` shows any contents: a masked path is an empty file or an empty directory."""
    try:
        if os.path.isdir(path):
            return bool(os.listdir(path))
        with open(path, "rb", buffering=0) as file:
            return bool(file.read(1))
    except OSError:
        return False


def _writable(path: str) -> bool:
    """Whether `path` is on a mount that is not read-only."""
    try:
        return not os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError:
        return False


def _attempt(step: Callable[[], object]) -> str:
    try:
        step()
    except TimeoutError:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "won"


def _first(paths: tuple[str, ...]) -> str:
    for path in paths:
        text = _read(path).strip()
        if text:
            return text[:64]
    return ""


def _field(status: str, name: str) -> str:
    found = re.search(rf"^{name}:\s*(\S+)", status, re.MULTILINE)
    return found[1] if found else ""


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read(65536)
    except OSError:
        return ""
