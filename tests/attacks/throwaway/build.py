"""The throwaway world's files: copies that its root may write and destroy, and below them the system, which nobody may.

/usr, Python and this checkout are the arena's: read-only, and owned by nobody of this world. An attack that tries to
write there fails, and is not seen. Everything else that is worth destroying is here as a copy, or made up.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path

from rlm_secure.testing.arena import build, paths
from tests.attacks.throwaway.manifest import KEYCTL, KEYRINGS, SHARED

ROOT = Path(__file__).parents[3]
NAMESPACES = (
    build._CLONE_NEWUSER | build._CLONE_NEWNS | build._CLONE_NEWPID | build._CLONE_NEWNET
    | build._CLONE_NEWIPC | build._CLONE_NEWUTS | build._CLONE_NEWCGROUP
)  # fmt: skip
_STAGE = "/tmp"
#: Made for this world, or copied: an attack may write here as it may on the machine.
_OWN = ("boot", "dev", "etc", "home", "media", "mnt", "root", "run", "srv", "tmp", "var")
_COPIED = (
    "passwd", "group", "hosts", "hostname", "resolv.conf", "os-release", "nsswitch.conf", "ld.so.cache", "ld.so.conf",
    "localtime", "profile", "environment", "fstab", "crontab", "login.defs", "services", "shells", "pam.d",
)  # fmt: skip
#: What nobody wants to lose. A path -> its mode and its content.
_PRECIOUS = {
    "etc/shadow": (0o600, "root:$y$j9T$nothing:19000:0:99999:7:::\n"),
    "etc/sudoers": (0o440, "root ALL=(ALL:ALL) ALL\n"),
    "etc/ssh/ssh_host_ed25519_key": (0o600, "-----BEGIN OPENSSH PRIVATE KEY-----\n"),
    "root/.ssh/id_ed25519": (0o600, "-----BEGIN OPENSSH PRIVATE KEY-----\n"),
    "root/.ssh/authorized_keys": (0o600, "ssh-ed25519 AAAA somebody\n"),
    "root/.bashrc": (0o644, "alias ll='ls -l'\n"),
    "root/thesis.txt": (0o644, "three years of work\n" * 100),
    "home/a-neighbour/.profile": (0o644, "umask 022\n"),
    "home/a-neighbour/photos/one.jpg": (0o644, "\x01\x02" * 5000),
    "boot/vmlinuz": (0o600, "MZ" * 20_000),
    "boot/grub/grub.cfg": (0o600, "set timeout=5\n"),
    "var/log/syslog": (0o640, "nothing happened\n" * 50),
    "var/lib/dpkg/status": (0o644, "Package: base-files\n"),
    "var/spool/cron/crontabs/root": (0o600, "0 3 * * * true\n"),
    "srv/database": (0o644, "rows\n" * 1000),
    "run/service.pid": (0o644, "1\n"),
    "tmp/of-somebody-else": (0o600, "still at work\n"),
    "var/tmp/of-somebody-else": (0o600, "still at work\n"),
    "dev/shm/of-somebody-else": (0o600, "still at work\n"),
}
_WORLD_BYTES = 128 << 20
_JOIN_SESSION_KEYRING, _GET_KEYRING_ID = 1, 0


def world() -> None:
    """Make the world's root, go there, and be the first process of a machine that has just started."""
    build._mount(None, "/", None, build._MS_REC | build._MS_PRIVATE)
    tree = f"{_STAGE}/root"
    shown = _shown()  # held before the stage covers what is below it
    build._mount("tmpfs", _STAGE, "tmpfs", 0, "size=64k,mode=0755")
    os.mkdir(tree)
    build._mount("tmpfs", tree, "tmpfs", 0, f"size={_WORLD_BYTES},mode=0755")
    _furnish(tree)
    _system(tree, shown)
    build._mount("proc", f"{tree}/proc", "proc", build._MS_NOSUID | build._MS_NODEV | build._MS_NOEXEC)
    with contextlib.suppress(build.BuildRefused):  # a kernel without it
        build._mount("mqueue", f"{tree}/dev/mqueue", "mqueue", build._MS_NOSUID)
    os.chdir(tree)
    machine = os.uname().machine
    build._checked(build._libc.syscall(build._PIVOT_ROOT[machine], b".", b"."), "a root of its own")
    build._checked(build._libc.umount2(b".", build._MNT_DETACH), "the arena's root cannot be left behind")
    os.chdir("/")
    build._loopback({"network": False})
    socket.sethostname("throwaway")
    build._checked(build._libc.setdomainname(b"nowhere", 7), "a domain name of its own")
    for operation in (
        (_JOIN_SESSION_KEYRING, None, 0),
        *((_GET_KEYRING_ID, number, 1) for number in KEYRINGS.values()),
    ):
        build._libc.syscall(KEYCTL, *operation)  # keyrings as after a login, where the kernel has them


def _shown() -> dict[str, int]:
    """The directories of the arena that a world sees, each with a descriptor."""
    names = sorted(set(os.listdir("/")) - {*_OWN, "proc"})
    shown = [f"/{name}" for name in names if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")]
    needed = {*paths.needed(), str(ROOT)}
    shown += [path for path in needed if not paths.within(path, {*needed, *shown} - {path})]
    return {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in shown}


def _system(tree: str, shown: dict[str, int]) -> None:
    """What is the arena's."""
    for name in sorted(set(os.listdir("/")) - {*_OWN, "proc"}):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{tree}/{name}")
    for path, descriptor in shown.items():
        os.makedirs(tree + path, exist_ok=True)
        build._mount(f"/proc/self/fd/{descriptor}", tree + path, None, build._MS_BIND | build._MS_REC)
        os.close(descriptor)
    for name in build._DEVICES:
        if os.path.exists(f"/dev/{name}"):
            build._touch(f"{tree}/dev/{name}")
            build._mount(f"/dev/{name}", f"{tree}/dev/{name}", None, build._MS_BIND)


def _furnish(tree: str) -> None:
    """What is the world's own."""
    for name in (*_OWN, "proc", "home/a-neighbour"):
        os.makedirs(f"{tree}/{name}")
    for place in SHARED:
        os.makedirs(tree + place, exist_ok=True)
        os.chmod(tree + place, 0o1777)
    for name in _COPIED:
        source, copy = Path("/etc", name), f"{tree}/etc/{name}"
        with contextlib.suppress(OSError):  # not every system has each
            if source.is_dir():
                shutil.copytree(source, copy, symlinks=True)
            else:
                shutil.copy2(source, copy, follow_symlinks=False)
    for name, (mode, text) in _PRECIOUS.items():
        path = Path(tree, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
    os.symlink("/root/thesis.txt", f"{tree}/home/a-neighbour/link")
    os.link(f"{tree}/srv/database", f"{tree}/srv/the-same")
    os.mkfifo(f"{tree}/run/initctl", 0o600)
    with contextlib.suppress(OSError):  # tmpfs has them since Linux 6.6
        os.setxattr(f"{tree}/root/thesis.txt", "user.author", b"somebody")
    for name, pointed in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(pointed, f"{tree}/dev/{name}")
