"""The kernel walls, as single steps: each does one thing, or raises OSError with the errno of the kernel.

For x86_64 and aarch64; depends on libc alone. The order of the steps is in zygote.py and walls.py.
Sources: the man pages unshare(2), pivot_root(2), landlock(7), seccomp(2), prctl(2), capset(2), user_namespaces(7).

Guards: the kernel calls that raise the walls
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Callable
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_locked = ctypes.PyDLL(None, use_errno=True).syscall  # keeps the interpreter's lock, so that a forked child has it
for _call in (_libc.syscall, _locked):
    _call.restype, _call.argtypes = ctypes.c_long, [ctypes.c_long] + [ctypes.c_void_p] * 6  # a number, too, or None
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4

_MACHINE = os.uname().machine
#: System call numbers that differ by architecture; those of Landlock do not.
NUMBERS = {
    "x86_64": {"pivot_root": 155, "umount2": 166, "capset": 126, "seccomp": 317, "unshare": 272, "clone": 56},
    "aarch64": {"pivot_root": 41, "umount2": 39, "capset": 91, "seccomp": 277, "unshare": 97, "clone": 220},
}
_NUMBERS = NUMBERS.get(_MACHINE)
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
#: Rights that a ruleset may still allow, as (files, network, scopes) like in `_LANDLOCK`.
READ_FILE, RESOLVE_UNIX, SIGNAL = (0x4, 0, 0), (0x10000, 0, 0), (0, 0, 0x2)
#: Landlock ABI -> the rights that it introduced, as bits of handled_access_fs, handled_access_net and scoped.
#: Sources: the kernel's include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst; landlock(7).
_LANDLOCK = {
    1: (0x1FFF, 0, 0),  # Linux 5.13: execute, read, write, list, remove, and make, of every kind of file
    2: (0x2000, 0, 0),  # 5.19: REFER, links and renames between directories
    3: (0x4000, 0, 0),  # 6.2: TRUNCATE
    4: (0, 0x3, 0),  # 6.7: BIND_TCP, CONNECT_TCP
    5: (0x8000, 0, 0),  # 6.10: IOCTL_DEV
    6: (0, 0, 0x3),  # 6.12: scopes, ABSTRACT_UNIX_SOCKET and SIGNAL
    7: (0, 0, 0),  # 6.15: flags for the audit log, below
    8: (0, 0, 0),  # 7.0: a flag for processes with several threads, which sessions never have
    9: (0x10000, 0, 0),  # 7.1: RESOLVE_UNIX, connections to the named sockets of others
    10: (0, 0xC, 0),  # 7.2: BIND_UDP, CONNECT_SEND_UDP
}
#: Since ABI 7, denials are also logged after an exec, if this flag is set; before an exec they always are.
_LOGGING, _LOG_NEW_EXEC_ON = 7, 2

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 1, 3, 4
_PR_GET_SECCOMP = 21
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS = 24, 38, 39
_PR_SET_THP_DISABLE, _PR_GET_THP_DISABLE = 41, 42
_PR_SET_MDWE, _PR_GET_MDWE, _MDWE_REFUSE_EXEC_GAIN = 65, 66, 1
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_SECCOMP_SET_MODE_FILTER = 1
_CAPABILITY_VERSION_3 = 0x20080522


_NONE = (0,) * 6


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(name: str, *arguments: Any, call: Callable[..., int] = _libc.syscall) -> int:
    if _NUMBERS is None:
        raise OSError(38, f"no system call table for {_MACHINE}")
    return _raw(_NUMBERS[name], name, *arguments, call=call)


def _raw(number: int, name: str, *arguments: Any, call: Callable[..., int] = _libc.syscall) -> int:
    return _checked(call(number, *arguments, *_NONE[len(arguments) :]), name)


def _prctl(what: str, option: int, *arguments: int) -> int:
    return _checked(_libc.prctl(option, *arguments, *_NONE[2 + len(arguments) :]), what)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` names. Creating a user namespace needs a single-threaded caller."""
    _syscall("unshare", flags)


def fork(flags: int = 0) -> int:
    """fork(2), with the child in the new namespaces that `flags` names. For a process with a single thread.

    Not os.fork, which would need three further calls for a PID namespace, and afterwards renews locks and what it knows
    of threads, for which the child copies pages. Raises OSError.
    """
    return _syscall("clone", signal.SIGCHLD | flags, call=_locked)


def become(uid: int) -> None:
    """Drop root and its groups for `uid`. The process can still write the id maps of a new user namespace."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    set_dumpable(True)


def map_identity(uid: int, gid: int) -> None:
    """Map the caller's own ids into its new user namespace, and nothing else."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
    _checked(_libc.mount(source, target, kind, ctypes.c_ulong(flags), data), f"mount {target.decode()}")


def empty_root() -> None:
    """Replace / by an empty, read-only tmpfs. After this, no path leads to any file."""
    quiet = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount(None, b"/", None, _MS_REC | _MS_PRIVATE)
    _mount(b"tmpfs", b"/tmp", b"tmpfs", quiet, b"size=4k,nr_inodes=2,mode=0555")
    os.chdir("/tmp")
    _syscall("pivot_root", b".", b".")
    _syscall("umount2", b".", _MNT_DETACH)
    _mount(None, b"/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | quiet)
    os.chdir("/")
    if os.listdir("/"):
        raise OSError(39, "the new root is not empty")


def no_new_privs() -> None:
    """Set no_new_privs: no later exec can gain privileges."""
    _prctl("no_new_privs", _PR_SET_NO_NEW_PRIVS, 1)
    if _prctl("no_new_privs", _PR_GET_NO_NEW_PRIVS) != 1:
        raise OSError(1, "no_new_privs did not stay set")


def confinement() -> tuple[int, int]:
    """`(no_new_privs, seccomp mode)` of the caller, as the kernel reports them."""
    return _prctl("no_new_privs", _PR_GET_NO_NEW_PRIVS), _prctl("seccomp", _PR_GET_SECCOMP)


def set_dumpable(value: bool) -> None:
    """Set whether other processes of the same user may ptrace this one or read its /proc files."""
    _prctl("dumpable", _PR_SET_DUMPABLE, int(value))


def deny_write_execute() -> None:
    """Set PR_SET_MDWE: no memory can be writable and executable, or become executable later (Linux 6.3)."""
    _prctl("mdwe", _PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN)
    if not _prctl("mdwe", _PR_GET_MDWE) & _MDWE_REFUSE_EXEC_GAIN:
        raise OSError(1, "MDWE did not stay set")


def huge_pages(allowed: bool) -> None:
    """Set whether the caller, and children that it forks later, may have huge pages (Linux 3.15)."""
    _prctl("thp_disable", _PR_SET_THP_DISABLE, int(not allowed))
    if bool(_prctl("thp_disable", _PR_GET_THP_DISABLE)) is allowed:
        raise OSError(1, "THP_DISABLE did not stay set")


def die_with_parent(number: int) -> None:
    """Have the kernel send signal `number` to the caller when the thread that created it ends."""
    _prctl("pdeathsig", _PR_SET_PDEATHSIG, number)


def empty_bounding_set() -> None:
    """Drop every capability from the bounding set. EINVAL marks the end of the kernel's list of capabilities."""
    for capability in range(64):
        try:
            _prctl("capbset", _PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == 22:
                return
            raise


def drop_capabilities() -> None:
    """Empty the ambient, effective, permitted and inheritable sets of the calling thread."""
    try:
        _prctl("cap_ambient", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError as error:
        if error.errno != 22:  # a kernel without an ambient set (gVisor) has nothing to clear
            raise
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    _syscall("capset", header, bytes(24))


def landlock_abi() -> int:
    """The kernel's Landlock ABI. Raises OSError where Landlock is absent or off."""
    return _raw(_LANDLOCK_CREATE, "landlock", None, 0, 1)


def landlock_ruleset(abi: int, *without: tuple[int, int, int]) -> tuple[int, int]:
    """A file descriptor of a ruleset that only allows `without`, and the newest ABI whose rights it denies.

    That is the newest ABI that is known here and at most `abi`. If the kernel refuses its rights, because it numbers
    ABIs in another way, the ABI before it is tried. The caller has to report what is then missing.
    """
    known = max(each for each in _LANDLOCK if each <= max(abi, 1))
    while True:
        files, network, scopes = (
            sum(rights[kind] for each, rights in _LANDLOCK.items() if each <= known)
            & ~sum(rights[kind] for rights in without)
            for kind in range(3)
        )
        size = 24 if scopes else 16 if network else 8
        attributes = struct.pack("QQQ", files, network, scopes)[:size]
        try:
            return _raw(_LANDLOCK_CREATE, "landlock", attributes, size, 0), known
        except OSError as error:
            if error.errno != 22 or known == 1:
                raise
            known = max(each for each in _LANDLOCK if each < known)


def landlock_allow(fd: int, path: str, right: tuple[int, int, int]) -> None:
    """Have the ruleset `fd` allow a file right on `path` and below it. Raises OSError, e.g. for a missing path."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        beneath = struct.pack("=Qi", right[0], place)
        _raw(_LANDLOCK_ADD, "landlock", fd, _PATH_BENEATH, beneath, 0)
    finally:
        os.close(place)


def landlock_restrict(fd: int) -> None:
    """Apply the ruleset to the caller and all its later children. Needs no_new_privs."""
    _raw(_LANDLOCK_RESTRICT, "landlock", fd, _LOG_NEW_EXEC_ON if landlock_abi() >= _LOGGING else 0)


class _Program(ctypes.Structure):
    """struct sock_fprog. Defined once: defining the class costs a session more time than installing its filter."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def seccomp(program: bytes, flags: int = 0) -> int:
    """Install a BPF program (8 bytes per instruction) on the calling thread. Needs no_new_privs. The last step.

    `flags` are SECCOMP_FILTER_FLAG_*. Returns the result of the system call: the listener's descriptor, if requested.
    """
    block = _Program(len(program) // 8, program)
    return _syscall("seccomp", _SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(block))


def limit(name: str, soft: int, hard: int | None = None) -> None:
    """setrlimit RLIMIT_<name>. Never raises a hard limit, and checks that the kernel applied it. Raises OSError."""
    kind = getattr(resource, f"RLIMIT_{name}")
    before = resource.getrlimit(kind)
    _, ceiling = before
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
    wanted = (min(soft, hard), hard)
    if before == wanted:
        return
    try:
        resource.setrlimit(kind, wanted)
    except ValueError as error:  # how Python reports EPERM and EINVAL here
        raise OSError(1, f"RLIMIT_{name}: {error}") from None
    if resource.getrlimit(kind)[1] != hard:
        raise OSError(1, f"RLIMIT_{name} did not stay set")
