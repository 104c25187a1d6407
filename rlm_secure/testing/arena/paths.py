"""Which files of the host an arena hides, which it replaces with its own, and which it needs."""

from __future__ import annotations

import contextlib
import os
import site
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.resources import policies_dir, sandboxes_dir

if sys.platform != "win32":  # where this file is imported, and nothing of it runs
    import pwd

#: Hidden below empty covers: homes, keys, sockets, logs and state of others. The caller's home is added.
HIDDEN = (
    "/root", "/home", "/run", "/boot", "/mnt", "/media", "/lost+found",
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh",
    "/etc/ssl/private", "/etc/docker", "/etc/kubernetes", "/etc/krb5.keytab", "/etc/NetworkManager", "/etc/wireguard",
    "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/systemd", "/var/lib/cloud",
    "/var/spool", "/var/mail", "/var/log", "/var/backups", "/var/cache/private", "/var/lib/private",
    "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf", "/sys/firmware",
)  # fmt: skip
#: Empty and writable, and removed with the arena. /dev/shm is created with /dev.
PRIVATE = ("/tmp", "/var/tmp")  # noqa: S108 - the arena's own are mounted at these names


#: Directories that every program needs; a home in one of them is not hidden.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/etc", "/proc", "/dev")
#: Directories that cannot be the host's: /run holds the arena's mark, and /dev only the arena's devices.
_OWN = ("/run", "/dev")


@dataclass(frozen=True, slots=True)
class Share:
    """A path of the host that is visible in an arena, under the same name; read-only unless `writable`."""

    path: str
    writable: bool = False

    @classmethod
    def parse(cls, text: str) -> Share:
        """Parse `PATH` or `PATH:rw`, following symbolic links.

        Raises ValueError for the root, an empty path, /run, /dev and anything in /proc.
        """
        name, colon, mode = text.rpartition(":")
        path, writable = (name, True) if colon and mode == "rw" else (text, False)
        found = os.path.realpath(path)
        if not path or found == "/":
            raise ValueError(f"--share {text!r}: name one directory, file or socket, not everything")
        if found in _OWN or within(found, ("/proc",)):
            raise ValueError(f"--share {text!r}: an arena has a {found} of its own; name what it needs of this one")
        return cls(found, writable)

    def __str__(self) -> str:
        return f"{self.path}:rw" if self.writable else self.path


def hidden() -> set[str]:
    """HIDDEN and the caller's homes, with symbolic links followed: a cover cannot be mounted on a link."""
    homes = {os.path.realpath(os.path.expanduser("~"))}  # noqa: PTH111 - "~" is kept if there is no home
    with contextlib.suppress(KeyError):  # HOME may differ; that of a system user may be "/", which is no home
        homes |= {os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)} - {"/"}
    return {os.path.realpath(path) for path in HIDDEN} | {home for home in homes if not within(home, _SYSTEM)}


def host_sockets() -> list[str]:
    """Sockets of the host outside hidden directories, to be hidden too: a read-only mount does not prevent connect().

    Sockets that are created later are not covered.
    """
    try:
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    named = {line.split(maxsplit=7)[7] for line in lines if " /" in line}
    found = {os.path.realpath(path) for path in named if _is_socket(path)}
    return sorted(path for path in found if not within(path, (*hidden(), *PRIVATE)))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False  # removed, or not accessible even to the caller, and so not to the arena


def needed() -> list[str]:
    """The directories that this Python and this package need to run."""
    import rlm_secure

    packages = [path for path in sys.path if path.endswith("-packages")]
    found = {
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        sys.base_exec_prefix,
        str(Path(sys.executable).resolve().parent.parent),
        *site.getsitepackages(),
        *packages,
        str(Path(rlm_secure.__file__).parent),
        str(policies_dir()),
        str(sandboxes_dir()),
    }
    whole = {os.path.realpath(path) for path in found if Path(path).is_dir()} | {os.path.abspath(sys.prefix)}  # noqa: PTH100 - as it is named
    return [path for path in sorted(whole) if path != "/" and not within(path, whole - {path})]


def within(path: str, directories: Iterable[str]) -> bool:
    """Whether `path` is one of `directories` or lies below one."""
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in directories)


def closed_above(paths: Iterable[str]) -> list[str]:
    """Directories above `paths` that others may not enter, if this process is root: the arena's users are others."""
    found = set()
    for path in paths:
        for above in list(Path(path).parents)[:-1]:
            about = above.stat()
            if os.getuid() == 0 and stat.S_ISDIR(about.st_mode) and not about.st_mode & 0o001:
                found.add(str(above))
    return [path for path in sorted(found) if not within(path, found - {path})]
