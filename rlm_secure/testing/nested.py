"""A user namespace below the judge's, for those who hold sessions of somebody else's, and what they are to find.

Root in an arena could trace the judge and write its verdicts. Root in there cannot: its capabilities are over the
namespaces made together with it, and none over a process outside (ptrace(2): "the caller has CAP_SYS_PTRACE in the user
namespace of the target"). It is another user as well, and signals nobody outside. Who is not root in the arena is the
same user below, and can end or stop the judge: then there is no verdict.

`python -I -S -B nested.py DESCRIPTORS COMMAND...` enters the namespaces of these numbers and becomes the command: so
its memory belongs to that user namespace from its first byte. This file needs nothing but the interpreter.

Sources: user_namespaces(7), setns(2), ptrace(2), netdevice(7), proc_pid_uid_map(5).

Guards: a user namespace below the judge's, for whoever holds a session of somebody else's
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator, Sequence

_CLONE_NEWNS, _CLONE_NEWCGROUP, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_CHILD_SUBREAPER = 36
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

#: Who is root there is this user of the judge's arena, and so can neither signal nor slow down what is the judge's.
ROOT = 65_535
#: Descriptors of the namespaces that are entered, the user namespace first: among mounts that an attacker arranged no
#: process has a right over the judge, not for a moment.
_namespaces: tuple[int, ...] = ()


def stand_above(*, network: bool) -> None:
    """Make that user namespace, and have everything that `below` starts live in it. For a program's main thread.

    As root it gets mounts, IPC, a host name and cgroups of its own; a network as well, which this thread and those that
    it starts enter, unless `network` says that theirs is the host's. Raises OSError where the machine refuses.
    """
    global _namespaces
    names = {"user": _CLONE_NEWUSER}
    if os.geteuid() == 0:
        names |= {"mnt": _CLONE_NEWNS, "ipc": _CLONE_NEWIPC, "uts": _CLONE_NEWUTS, "cgroup": _CLONE_NEWCGROUP}
        names |= {} if network else {"net": _CLONE_NEWNET}
    with _born(sum(names.values())) as child:
        _map(child)
        held = {name: os.open(f"/proc/{child}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names}
    if "net" in held:
        _enter(held.pop("net"))
        loopback()
    _namespaces = tuple(held.values())


def below(command: Sequence[str]) -> tuple[list[str], tuple[int, ...]]:
    """What to start for `command` to run below this process, and the descriptors that it inherits.

    The command itself, where this process has not called `stand_above`.
    """
    if not _namespaces:
        return list(command), ()
    numbers = ",".join(map(str, _namespaces))
    return [sys.executable, "-I", "-S", "-B", __file__, numbers, *command], _namespaces


def own_mounts() -> None:
    """What this process mounts from now on is seen by itself and its children alone. Raises OSError."""
    _checked(_libc().unshare(_CLONE_NEWNS))
    _checked(_libc().mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))


def adopt_orphans() -> None:
    """Be the parent of every descendant that loses its own (prctl(2), PR_SET_CHILD_SUBREAPER). Raises OSError."""
    _checked(_libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def planted(path: str) -> None:
    """Give what is planted at `path` to who is root below: it may do there what root may do with its own."""
    if _namespaces and os.geteuid() == 0:
        os.chown(path, ROOT, ROOT, follow_symlinks=False)


def main() -> None:
    """Enter the namespaces, and become the command."""
    directory = os.getcwd()  # noqa: PTH109 - which entering a mount namespace leaves
    root = os.geteuid() == 0
    user, *others = map(int, sys.argv[1].split(","))
    _enter(user)
    if root:
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    for descriptor in others:
        _enter(descriptor)
    os.chdir(directory)
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell is meant


@contextlib.contextmanager
def _born(flags: int) -> Iterator[int]:
    """A child in namespaces of its own, until the end of the block."""
    ready, told = os.pipe()
    waiting, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(go)
            _checked(_libc().unshare(flags))
            os.write(told, b".")
            os.read(waiting, 1)
        finally:
            os._exit(0)
    os.close(told)
    os.close(waiting)
    try:
        if not os.read(ready, 1):
            raise PermissionError("this machine gives no user namespace below the judge's")
        yield child
    finally:
        os.close(ready)
        os.close(go)
        os.waitpid(child, 0)


def _map(child: int) -> None:
    """The same users as here, but for root; who is not root here has but one."""
    if os.geteuid() != 0:
        _place(f"/proc/{child}/setgroups", "deny")
    for name, own in (("uid_map", os.geteuid()), ("gid_map", os.getegid())):
        every = f"0 {ROOT} 1\n1 1 {ROOT - 1}"
        _place(f"/proc/{child}/{name}", every if os.geteuid() == 0 else f"{own} {own} 1")


def _place(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(text)


def _enter(descriptor: int) -> None:
    _checked(_libc().setns(descriptor, 0))
    os.close(descriptor)


def loopback() -> None:
    """Bring this network's loopback up. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
