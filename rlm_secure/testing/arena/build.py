"""The program that builds an arena and runs one command in it: `python -I -S -B build.py DESCRIPTOR`.

It reads one JSON job from that descriptor, and needs only the interpreter. To the job's `status` descriptor it writes
STANDS when the arena is built, or else the reason why not. Three processes:

    outer   the child of the caller; waits, and forwards signals
    init    pid 1 of the arena: builds the mounts with the caller's privileges, then gives these up permanently by
            entering a user namespace of its own, where it reaps orphans
    command the caller's command, as root of that user namespace if the caller is root, else under the caller's uid

The mounts are made *before* that user namespace and copied into it, which locks them: no process inside can unmount a
cover, make a read-only mount writable, or see what is below (mount_namespaces(7)). When init ends, for whatever reason,
the kernel kills everything in the arena; init dies with outer, and outer with the thread that started it.

Sources: user_namespaces(7), mount_namespaces(7), pid_namespaces(7), mount_setattr(2), pivot_root(2), netdevice(7).

Guards: an arena's mounts, namespaces and users
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

_CLONE_NEWTIME, _CLONE_NEWNS, _CLONE_NEWCGROUP, _CLONE_NEWUTS = 0x80, 0x00020000, 0x02000000, 0x04000000
_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
_MNT_DETACH = 2
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_MOUNT_SETATTR = 442  # the same number on every architecture
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2
_SECCOMP_RET_ERRNO, _SECCOMP_RET_ALLOW, _X32_CALL = 0x00050000, 0x7FFF0000, 0x40000000
_BPF_LD, _BPF_AND, _BPF_JEQ, _BPF_JGE, _BPF_JGT, _BPF_RET = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
#: AUDIT_ARCH_* of the machine and the number of its first of three key calls; then both for its 32-bit programs.
_KEY_CALLS = {"x86_64": (0xC000003E, 248, 0x40000003, 286), "aarch64": (0xC00000B7, 217, 0x40000028, 309)}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

#: Where the root is assembled, in a private mount namespace.
_STAGE = "/tmp"  # every system has it; a tmpfs covers it before anything is created in it
_FIRST_PID = "20000"
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Exit status of this program if the arena cannot be built; the reason is written to the `status` descriptor.
REFUSED = 125
#: Written when only the command itself can still fail. A builder that dies without it has built nothing.
STANDS = b"stands"

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class BuildRefused(Exception):
    """The arena cannot be built; the message says why."""


def main(descriptor: int) -> int:
    """Build the job's arena, run its command inside, and return the command's exit status."""
    # They wait until they can be passed on: the caller may send one as soon as the arena stands.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    with os.fdopen(descriptor) as file:
        try:
            job = json.load(file)
        except ValueError:
            return REFUSED  # the caller was interrupted before it had said what to build
    os.umask(0o022)
    _die_with_parent()
    if os.getppid() != job["parent"]:
        return REFUSED  # the caller has died
    return _outer(job)


# -- outer ------------------------------------------------------------------------------------------


def _outer(job: dict[str, Any]) -> int:
    uid, gid = os.getuid(), os.getgid()
    with _said_on(job["status"]):
        for fd in (0, 1, 2, *job["kept"]):
            if _is_directory(fd):
                raise BuildRefused(f"descriptor {fd} is a directory of this machine, and a way to all that it holds")
        if uid != 0:
            _unshare(_CLONE_NEWUSER, "user namespace")
            _map(os.getpid(), f"{uid} {uid} 1", f"{gid} {gid} 1", groups=False)
        _unshare(_CLONE_NEWNS | _CLONE_NEWPID, "mount and PID namespaces")
        reader, alive = os.pipe()
        init = os.fork()
    if init == 0:
        os.close(alive)
        os._exit(_init(job, uid, reader))
    os.close(reader)
    for fd in (*job["kept"], job["status"]):
        os.close(fd)
    _pass_signals_to(init)
    return _shell_status(os.waitpid(init, 0)[1])


# -- init -------------------------------------------------------------------------------------------


def _init(job: dict[str, Any], uid: int, alive: int) -> int:
    with _said_on(job["status"]):
        _die_with_parent()
        _mounts(job)
        _leave_privileges(job, uid)
        if select.select([alive], [], [], 0)[0]:
            os._exit(REFUSED)  # readable means end of file: outer, the only holder of the other end, has died
        os.close(alive)
        _loopback(job)
        socket.sethostname("arena")
        for name, value in job["limits"].items():
            _limit(getattr(resource, name), value)
        command = os.fork()
    if command == 0:
        os.close(job["status"])
        _become(job)
    os.write(job["status"], STANDS)
    for fd in (*job["kept"], job["status"], 0):
        os.close(fd)
    _pass_signals_to(-command)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            return _shell_status(status)


def _become(job: dict[str, Any]) -> NoReturn:
    """Exec the command in a session of its own (setsid), without a controlling terminal."""
    try:
        os.setsid()
        os.chdir(job["directory"] if os.path.isdir(job["directory"]) else "/")
        for number in _PASSED_ON:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        os.execvpe(job["command"][0], job["command"], job["environment"])
    except OSError as error:
        sys.stderr.write(f"{job['command'][0]}: {error.strerror} in the arena\n")
    finally:
        os._exit(127)


def _mounts(job: dict[str, Any]) -> None:
    """Make a root: the host's, read-only, with covers on secret paths and new tmpfs on scratch directories."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    # Paths to bind from the host are opened before the stage or a cover hides them.
    held = [(os.open(each["source"], os.O_PATH), each) for each in sorted(job["bound"], key=lambda each: each["path"])]
    _mount("tmpfs", _STAGE, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=64k,mode=0700")
    root = f"{_STAGE}/root"
    os.mkdir(root)
    _mount("/", root, None, _MS_BIND | _MS_REC)
    _restrict(root, _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV, recursive=True)
    _devices(root, job)
    covers = [cover for path in job["hidden"] if (cover := _cover(root + path)) is not None]
    for path in job["private"]:
        if os.path.isdir(root + path) and not os.path.islink(root + path):
            _mount("tmpfs", root + path, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={job['scratch_bytes']},mode=1777")
    covers += _sealed(root, job)
    for fd, each in held:
        _bind(fd, root + each["path"], writable=each["writable"])
        if each["source"] == _STAGE:  # the recursive bind includes the stage, mounted on top
            _checked(_libc.umount2(os.fsencode(root + each["path"]), _MNT_DETACH), "taking the stage off")
        os.close(fd)
    _mount("proc", f"{root}/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    # Nothing in it may be covered: else the kernel refuses sandboxes inside a proc of their own (mount_namespaces(7)).
    with contextlib.suppress(OSError):  # pids here start high, unlike those of a sandbox, which start at 1
        _place(f"{root}/proc/sys/kernel/ns_last_pid", _FIRST_PID)
    _place(f"{root}{job['mark']}", json.dumps(job["about"]))
    for cover in covers:  # by descriptor: by now shares may be mounted on the path or below it
        _restrict(f"/proc/self/fd/{cover}", _MOUNT_ATTR_RDONLY, recursive=False)
        os.close(cover)
    os.chdir(root)
    _checked(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "a root of its own")
    _checked(_libc.umount2(b".", _MNT_DETACH), "the host's root cannot be left behind")
    os.chdir("/")


def _sealed(root: str, job: dict[str, Any]) -> list[int]:
    """Cover the directories above bound paths in a private directory, so that no process inside can replace them.

    Returns the covers' descriptors.
    """
    tops = set()
    for path in (each["path"] for each in job["bound"]):
        for private in (private for private in job["private"] if path.startswith(f"{private}/")):
            top, slash, _ = path.removeprefix(f"{private}/").partition("/")
            if slash:
                tops.add(f"{root}{private}/{top}")
    found = []
    for top in sorted(tops):
        os.mkdir(top)
        found.append(_cover(top))
    return [cover for cover in found if cover is not None]


def _devices(root: str, job: dict[str, Any]) -> None:
    """Make /dev with only the devices that every program needs, bound from the host's."""
    held = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES if os.path.exists(f"/dev/{name}")}
    _mount("tmpfs", f"{root}/dev", "tmpfs", _MS_NOSUID | _MS_NOEXEC, "size=64k,mode=0755")
    for name, fd in held.items():
        _touch(f"{root}/dev/{name}")
        _mount(f"/proc/self/fd/{fd}", f"{root}/dev/{name}", None, _MS_BIND)
        os.close(fd)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{root}/dev/{name}")
    os.mkdir(f"{root}/dev/shm")
    _mount("tmpfs", f"{root}/dev/shm", "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={job['scratch_bytes']},mode=1777")
    _restrict(f"{root}/dev", _MOUNT_ATTR_RDONLY, recursive=False)


def _cover(path: str) -> int | None:
    """Hide a directory below an empty tmpfs and return its descriptor; hide a file below /dev/null.

    A path that does not exist, or is removed meanwhile, needs no cover.
    """
    try:
        about = os.lstat(path)
        if stat.S_ISDIR(about.st_mode):
            _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=0755")
            return os.open(path, os.O_PATH)
        if not stat.S_ISLNK(about.st_mode):
            _mount("/dev/null", path, None, _MS_BIND)
    except OSError:
        return None
    except BuildRefused:
        if os.path.lexists(path):
            raise
    return None


def _bind(descriptor: int, path: str, *, writable: bool) -> None:
    """Bind what `descriptor` refers to at `path`, which is created if a cover hides it."""
    source = f"/proc/self/fd/{descriptor}"
    is_directory = stat.S_ISDIR(os.stat(source).st_mode)
    os.makedirs(path if is_directory else os.path.dirname(path), mode=0o755, exist_ok=True)
    if not is_directory and not os.path.lexists(path):
        _touch(path)
    _mount(source, path, None, _MS_BIND | _MS_REC)
    attributes = _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV | (0 if writable else _MOUNT_ATTR_RDONLY)
    _restrict(path, attributes, recursive=True)


def _leave_privileges(job: dict[str, Any], uid: int) -> None:
    """Enter the namespaces of the arena. After this no capability over any resource of the host is left."""
    flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWUTS | _CLONE_NEWCGROUP
    flags |= 0 if job["network"] else _CLONE_NEWNET
    gid = os.getgid()
    if uid == 0:
        ranges = f"0 {job['first_uid']} {job['uids']}"
        with _mapper(ranges):  # only a process outside a user namespace may map more than its own uid into it
            _unshare(flags, "namespaces of its own")
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
    else:
        _unshare(flags, "namespaces of its own")
        _map(os.getpid(), f"{uid} {uid} 1", f"{gid} {gid} 1", groups=False)
    if os.path.exists("/proc/self/ns/time"):
        _unshare(_CLONE_NEWTIME, "time namespace")
    _leave_keyring()
    if uid != 0:
        _bar_keys()
    # Root inside may neither trace pid 1 nor read its memory, whatever fs.suid_dumpable says.
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    _die_with_parent()  # again: the kernel clears the setting when credentials change


def _leave_keyring() -> None:
    """Join a new session keyring: keys are in no namespace, so those of the caller would be readable inside."""
    if _libc.syscall(_KEYCTL[os.uname().machine], _KEYCTL_JOIN_SESSION_KEYRING, None) < 0:
        number = ctypes.get_errno()
        if number not in (errno.ENOSYS, errno.EPERM):  # a kernel without keys; a seccomp filter that refuses key calls
            raise BuildRefused(f"it cannot leave the keyring of its caller: {os.strerror(number)}")


def _bar_keys() -> None:
    """Refuse add_key, request_key and keyctl permanently: a uid can access its keys from every namespace (keyrings(7)).

    Sources: seccomp(2), syscall(2); the numbers are those of the kernel's tables, also for the machine's 32-bit calls.
    """
    native, first, compatible, compatible_first = _KEY_CALLS[os.uname().machine]
    no, yes = _SECCOMP_RET_ERRNO | errno.ENOSYS, _SECCOMP_RET_ALLOW
    program = (
        (_BPF_LD, 0, 0, 4),  # 0: which architecture's call it is
        (_BPF_JEQ, 0, 4, native),  # 1: else to 6
        (_BPF_LD, 0, 0, 0),
        (_BPF_AND, 0, 0, ~_X32_CALL & 0xFFFFFFFF),
        (_BPF_JGE, 0, 6, first),  # 4: else to 11
        (_BPF_JGT, 5, 4, first + 2),  # 5: to 11, else to 10
        (_BPF_JEQ, 0, 4, compatible),  # 6: else to 11
        (_BPF_LD, 0, 0, 0),
        (_BPF_JGE, 0, 2, compatible_first),  # 8: else to 11
        (_BPF_JGT, 1, 0, compatible_first + 2),  # 9: to 11, else to 10
        (_BPF_RET, 0, 0, no),
        (_BPF_RET, 0, 0, yes),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "barring its user's keys")
    _checked(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filters, 0, 0), "barring its user's keys")


@contextlib.contextmanager
def _mapper(ranges: str) -> Iterator[None]:
    """Fork a child that stays outside, and maps `ranges` into pid 1's user namespace at the end of the block."""
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        status = 1
        try:
            os.read(ready, 1)
            _map(1, ranges, ranges, groups=True)
            status = 0
        finally:
            os._exit(status)
    os.close(ready)
    try:
        yield
    finally:
        os.close(go)
    if os.waitpid(child, 0)[1] != 0:
        raise BuildRefused("its users cannot be mapped to ones without rights on this machine")


def _loopback(job: dict[str, Any]) -> None:
    if job["network"]:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


# -- single steps -----------------------------------------------------------------------------------


@contextlib.contextmanager
def _said_on(descriptor: int) -> Iterator[None]:
    """Write the reason of any failure in the block to `descriptor`, and exit."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001 - any exception is a reason why there is no arena
        reason = str(error) if isinstance(error, BuildRefused) else f"{type(error).__name__}: {error}"
        os.write(descriptor, reason.encode("utf-8", "replace"))
        os._exit(REFUSED)


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise BuildRefused(f"{what}: {os.strerror(number)}")


def _unshare(flags: int, what: str) -> None:
    _checked(_libc.unshare(flags), f"this machine gives it no {what}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    coded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = _libc.mount(coded[0], coded[1], coded[2], ctypes.c_ulong(flags), coded[3])
    _checked(result, f"mounting {kind or source or 'nothing'} on {_inside(target)}")


def _restrict(path: str, attributes: int, *, recursive: bool) -> None:
    block = ctypes.create_string_buffer(struct.pack("QQQQ", attributes, 0, 0, 0), 32)
    number, size = ctypes.c_long(_MOUNT_SETATTR), ctypes.c_long(32)
    flags = _AT_RECURSIVE if recursive else 0
    result = _libc.syscall(number, _AT_FDCWD, os.fsencode(path), flags, block, size)
    _checked(result, f"restricting {_inside(path)} (mount_setattr, Linux 5.12)")


def _inside(path: str) -> str:
    return path.removeprefix(f"{_STAGE}/root") or "/"


def _map(pid: int, uids: str, gids: str, *, groups: bool) -> None:
    texts = [("uid_map", uids), ("gid_map", gids)]
    for name, text in texts if groups else [("setgroups", "deny"), *texts]:
        _place(f"/proc/{pid}/{name}", text)


def _limit(kind: int, value: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    value = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
    resource.setrlimit(kind, (value, value))


def _is_directory(descriptor: int) -> bool:
    try:
        return stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        return False  # closed


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def _place(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _pass_signals_to(process: int) -> None:
    """Forward signals that ask this process to end to `process`; a negative number is its process group."""

    def pass_on(number: int, _frame: object) -> None:
        for sent in (number, signal.SIGCONT):  # a stopped process must end too
            try:
                os.kill(process, sent)
            except ProcessLookupError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(abs(process), sent)  # it does not lead its group yet

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)


def _shell_status(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
