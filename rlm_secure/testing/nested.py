"""A user namespace below the judge's, for the processes that hold foreign sessions and for what their attacks target.

Root in an arena could trace the judge and forge its verdicts. Root in the nested namespace cannot: it has capabilities
over the namespaces created with it, and none over a process outside (ptrace(2): "the caller has CAP_SYS_PTRACE in the
user namespace of the target"). It is also another user, so it can signal no process outside. If the arena was not
started by root, both sides are the same user, and an attack can end or stop the judge: then there is no verdict.

`python -I -S -B nested.py DESCRIPTORS COMMAND...` enters the namespaces of these descriptors and then execs the
command, so that its memory belongs to the nested user namespace from the start. This file needs only the interpreter.

Sources: user_namespaces(7), setns(2), ptrace(2), netdevice(7), proc_pid_uid_map(5).

Guards: a user namespace below the judge's, for the processes that hold foreign sessions
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator, Sequence

if sys.platform != "win32":  # where this file is imported, and nothing of it runs
    import fcntl

_CLONE_NEWNS, _CLONE_NEWCGROUP, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_CHILD_SUBREAPER = 36
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

#: Root of the nested namespace is this uid in the judge's arena, so it can neither signal nor slow down the judge's
#: processes.
ROOT = 65_535
#: Descriptors of the namespaces to enter, the user namespace first: a process has given up its rights over the judge
#: before it enters the mount namespace, whose mounts an attacker may have changed.
_namespaces: tuple[int, ...] = ()


def stand_above(*, network: bool) -> None:
    """Create the nested user namespace; every command from `below` then runs in it. Call it in the main thread.

    If this process is root, also create mount, IPC, UTS and cgroup namespaces, and, unless `network` says that the
    arena uses the host's network, a network namespace, which this thread and those that it starts enter. Raises OSError
    if the kernel refuses.
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
    """The command line that runs `command` in the nested namespaces, and the descriptors that it must inherit.

    `command` itself if this process has not called `stand_above`.
    """
    if not _namespaces:
        return list(command), ()
    numbers = ",".join(map(str, _namespaces))
    return [sys.executable, "-I", "-S", "-B", __file__, numbers, *command], _namespaces


def own_mounts() -> None:
    """Enter a private mount namespace: only this process and its children see later mounts. Raises OSError."""
    _checked(_libc().unshare(_CLONE_NEWNS))
    _checked(_libc().mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (prctl(2), PR_SET_CHILD_SUBREAPER). Raises OSError."""
    _checked(_libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def planted(path: str) -> None:
    """Make the nested namespace's root the owner of `path`: without a wall, its root must be able to change it."""
    if _namespaces and os.geteuid() == 0:
        os.chown(path, ROOT, ROOT, follow_symlinks=False)


def main() -> None:
    """Enter the namespaces, and exec the command."""
    directory = os.getcwd()  # noqa: PTH109 - entering a mount namespace changes it
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
    """A child in new namespaces, which lives until the end of the block."""
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
    """Map the users of this namespace one to one, except root (ROOT); without root, map the own user only."""
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
    """Bring up the loopback interface of this network namespace. Raises OSError."""
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
