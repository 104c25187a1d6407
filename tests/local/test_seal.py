"""The kernel walls, step by step, each tried in a child of its own."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys

import pyseccomp
import pytest

from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.guest.kernel import listener, seal, stack, walls
from rlm_secure.testing.arena import build
from tests.local.kernels import in_child

OF_32_BITS = {"x86_64": "X86", "aarch64": "ARM"}


#: Where a module has the numbers of system calls, and of which; each by machine.
NUMBERS = {
    "seal": (seal.NUMBERS, ()),
    "stack": (stack._CALLS, ("mmap", "munmap", "mremap", "madvise")),
    "listener": (listener._CLONE, ("clone",)),
    "arena's root": (build._PIVOT_ROOT, ("pivot_root",)),
    "arena's keyring": (build._KEYCTL, ("keyctl",)),
    "arena's keys": ({machine: calls[1] for machine, calls in build._KEY_CALLS.items()}, ("add_key",)),
    "arena's keys of 32 bits": ({OF_32_BITS[machine]: calls[3] for machine, calls in build._KEY_CALLS.items()}, ("add_key",)),
}


@pytest.mark.parametrize(("numbers", "names"), NUMBERS.values(), ids=NUMBERS)
def test_system_call_numbers_are_libseccomps(numbers, names):
    for machine, of_it in numbers.items():
        arch = getattr(pyseccomp.Arch, machine.upper())
        found = of_it if isinstance(of_it, dict) else dict(zip(names, of_it if isinstance(of_it, tuple) else (of_it,), strict=True))
        assert found == {name: pyseccomp.resolve_syscall(arch, name) for name in found}, machine


@pytest.mark.parametrize("machine", sorted(seal.NUMBERS))
def test_system_call_numbers_of_every_machine_are_libseccomps(machine):
    arch = getattr(pyseccomp.Arch, machine.upper())
    for name, number in (("landlock_create_ruleset", 444), ("landlock_restrict_self", 446), ("mount_setattr", 442)):
        assert pyseccomp.resolve_syscall(arch, name) in (number, -1)  # libseccomp 2.5.4 may not know it yet
    assert build._MOUNT_SETATTR == 442


@pytest.mark.parametrize("machine", sorted(seal.NUMBERS))
@pytest.mark.parametrize("profile", ["worker", "worker-checkpoint"])
def test_profiles_are_built_for_both_architectures(machine, profile):
    assert len(compile_profile(profile, arch=machine)) > 8 * 40


@pytest.mark.parametrize("proved", [True, False])
def test_message_queues_are_bounded_by_a_proved_filter_where_the_kernel_has_no_limit_of_them(monkeypatch, proved):
    def refuse(name, soft, hard=None):
        raise OSError(1, f"RLIMIT_{name}: no")

    monkeypatch.setattr(seal, "limit", refuse)
    found = walls.Walls()
    found.note("rlimits", "CORE 0")
    (found.note if proved else found.miss)("seccomp", "as told")
    walls.note_message_queues(found, walls.bound_message_queues())
    assert found.held("rlimits") is proved
    assert "RLIMIT_MSGQUEUE: no" in found.found["rlimits"][1]


def test_a_fork_is_the_first_process_of_a_namespace_that_it_is_forked_into():
    def body():
        reader, writer = os.pipe()
        for flags in (0, seal.CLONE_NEWPID):
            pid = seal.fork(flags)
            if pid == 0:
                os.write(writer, b"%d %d;" % (os.getpid() == 1, os.getppid() == 0))
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        return os.read(reader, 100)

    def inside():
        seal.unshare(seal.CLONE_NEWUSER)
        return body()

    assert in_child(inside) == "b'0 0;1 1;'"
    assert in_child(inside, ("clone", errno.EAGAIN)) == "EAGAIN"


def test_landlock_denies_every_file():
    def body():
        seal.no_new_privs()
        seal.landlock_restrict(seal.landlock_ruleset(seal.landlock_abi())[0])
        return open("/etc/passwd").read()

    assert in_child(lambda: len(open("/etc/passwd").read()) > 0) == "True"
    assert in_child(body) == "EACCES"


#: What include/uapi/linux/landlock.h says each ABI has, all in all: files, network, scopes, and the size of the three.
LANDLOCK = {
    1: (2**13 - 1, 0, 0, 8), 2: (2**14 - 1, 0, 0, 8), 3: (2**15 - 1, 0, 0, 8), 4: (2**15 - 1, 0b11, 0, 16),
    5: (2**16 - 1, 0b11, 0, 16), 6: (2**16 - 1, 0b11, 0b11, 24), 7: (2**16 - 1, 0b11, 0b11, 24),
    8: (2**16 - 1, 0b11, 0b11, 24), 9: (2**17 - 1, 0b11, 0b11, 24), 10: (2**17 - 1, 0b1111, 0b11, 24),
    11: (2**17 - 1, 0b1111, 0b11, 24), 99: (2**17 - 1, 0b1111, 0b11, 24),
}  # fmt: skip


@pytest.mark.parametrize("abi", LANDLOCK)
def test_every_right_that_an_abi_of_landlock_has_is_denied(abi, monkeypatch):
    asked = []

    def create(number, _name, attributes, size, flags):
        asked.append((*struct.unpack("QQQ", ctypes.string_at(attributes, size).ljust(24, b"\0")), size))
        assert (number, flags) == (444, 0)
        return 5

    monkeypatch.setattr(seal, "_raw", create)
    assert seal.landlock_ruleset(abi) == (5, min(abi, 10))
    assert asked == [LANDLOCK[abi]]


def test_a_kernel_that_refuses_a_right_is_asked_for_the_rights_of_the_abi_before(monkeypatch):
    asked = []

    def create(_number, _name, _attributes, _size, _flags):
        asked.append(len(asked))
        if len(asked) < 3:
            raise OSError(errno.EINVAL, "landlock")
        return 5

    monkeypatch.setattr(seal, "_raw", create)
    assert seal.landlock_ruleset(10) == (5, 8)

    def refuse(*_):
        raise OSError(errno.EINVAL, "landlock")

    monkeypatch.setattr(seal, "_raw", refuse)
    with pytest.raises(OSError, match="landlock"):
        seal.landlock_ruleset(10)


def test_this_kernel_takes_the_rights_of_every_abi_that_it_has():
    newest = seal.landlock_abi()
    for abi in range(1, newest + 1):
        fd, known = seal.landlock_ruleset(abi)
        os.close(fd)
        assert known == min(abi, 10)


def rights(folder):
    """What Landlock has a right for, tried: name -> (ABI, attempt)."""

    def tcp(verb, *address):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
            getattr(one, verb)(*address)
        return "done"

    def abstract():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(f"\0{folder}")
        return "done"

    def named():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
            one.connect(f"{folder}/socket")
        return "done"

    def datagram():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"x", ("127.0.0.1", 9))
        return "done"

    return {
        "read": (1, lambda: open(f"{folder}/file").read()),
        "write": (1, lambda: open(f"{folder}/file", "a").close()),
        "list": (1, lambda: os.listdir(folder)),
        "make": (1, lambda: os.mkdir(f"{folder}/made")),
        "remove": (1, lambda: os.unlink(f"{folder}/file")),
        "link elsewhere": (2, lambda: os.rename(f"{folder}/file", f"{folder}/other/file")),
        "truncate": (3, lambda: os.truncate(f"{folder}/file", 0)),
        "bind": (4, lambda: tcp("bind", ("127.0.0.1", 0))),
        "connect": (4, lambda: tcp("connect", listening.getsockname())),
        "abstract socket": (6, abstract),
        "signal": (6, lambda: os.kill(os.getppid(), 0)),
        "named socket": (9, named),
        "datagram": (10, datagram),
    }


listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)


@pytest.mark.parametrize("right", rights(""))
def test_landlock_denies_what_it_has_a_right_for(right, tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "other").mkdir()
    abi, attempt = rights(tmp_path)[right]
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        listening.listen()
        abstract.bind(f"\0{tmp_path}")
        abstract.listen()
        named.bind(str(tmp_path / "socket"))
        named.listen()

        def body():
            seal.no_new_privs()
            seal.landlock_restrict(seal.landlock_ruleset(seal.landlock_abi())[0])
            return attempt()

        denied = in_child(body)
        assert (denied in ("EACCES", "EPERM", "EXDEV")) is (seal.landlock_abi() >= abi), denied
        assert in_child(attempt) not in ("EACCES", "EPERM", "EXDEV")


def test_seccomp_kills_the_process_for_a_call_off_the_list():
    def body(program=None):
        seal.no_new_privs()
        if program:
            seal.seccomp(program)
        return socket.socket().family.name

    assert in_child(body) == "AF_INET"
    assert in_child(lambda: body(compile_profile("worker"))) == "signal 31"


def test_memory_is_never_writable_and_executable():
    def body(deny):
        if deny:
            seal.deny_write_execute()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_long
        if libc.mmap(None, 4096, 7, 0x22, -1, 0) == -1:
            raise OSError(ctypes.get_errno(), "mmap")
        return "mapped"

    assert in_child(lambda: body(False)) == "mapped"
    assert in_child(lambda: body(True)) == "EACCES"


@pytest.mark.parametrize(("channel", "ruleset"), [(3, 4), (4, 3), (3, 9), (9, 4), (9, 10), (10, 9)])
def test_the_two_that_are_kept_do_not_close_each_other(channel, ruleset):
    ours, theirs = socket.socketpair()
    null = os.open("/dev/null", os.O_RDONLY)

    def body():
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (theirs.fileno(), null)]
        os.dup2(high[0], channel)
        os.dup2(high[1], ruleset)
        walls.keep_only(channel, ruleset)
        alive = [number for number in range(2048) if not failed(os.fstat, number)]
        os.write(3, f"{alive} {os.fstat(4).st_rdev == os.makedev(1, 3)}".encode())

    pid = os.fork()
    if pid == 0:
        body()
        os._exit(0)
    os.waitpid(pid, 0)
    theirs.close()
    os.close(null)
    assert ours.recv(100) == b"[3, 4] True"


def failed(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        return True
    return False


def test_only_one_descriptor_is_kept():
    ours, theirs = socket.socketpair()
    extra = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]

    def body():
        walls.keep_only(theirs.fileno(), None)
        alive = []
        for number in range(2048):
            try:
                os.fstat(number)
                alive.append(number)
            except OSError:
                pass
        ours_alive = alive
        os.write(3, str(ours_alive).encode())
        return ""

    pid = os.fork()
    if pid == 0:
        body()
        os._exit(0)
    os.waitpid(pid, 0)
    theirs.close()
    assert ours.recv(100) == b"[3]"
    ours.close()
    for fd in extra:
        os.close(fd)


def test_limits_are_checked_after_they_are_set():
    assert in_child(lambda: seal.limit("NOFILE", 8)) == "None"

    def body():
        seal.limit("NOFILE", 5)
        return os.dup(1) and os.dup(1) and os.dup(1) and os.dup(1)

    assert in_child(body) == "EMFILE"


def test_a_failed_step_is_noted_with_the_kernels_word():
    found = walls.Walls()
    assert not found.attempt("landlock", os.close, 999)
    assert found.found["landlock"][0] == "none"
    assert "Bad file descriptor" in found.found["landlock"][1]
    assert not found.held("landlock")


def test_this_machine_is_in_the_table():
    assert os.uname().machine in seal.NUMBERS
    assert sys.platform == "linux"
