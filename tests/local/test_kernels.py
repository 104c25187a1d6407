"""What the walls' steps do on kernels that are not this one: without a call, or with one that lies."""

from __future__ import annotations

import _socket
import array
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guest.kernel import listener, probes, seal, stack, walls
from rlm_secure.guest.session import memory
from rlm_secure.guest.zygote import boot, prefork
from rlm_secure.testing import nested
from tests.local.kernels import LIES, anew, in_child

LANDLOCK = 444  # landlock_create_ruleset, which libseccomp 2.5 does not know
#: Step, what the kernel refuses, what comes of it.
STEPS: dict[str, tuple[Callable[[], Any], tuple[Any, ...], str]] = {
    "no_new_privs is not there": (seal.no_new_privs, ("prctl", errno.EINVAL, (0, 38)), "EINVAL"),
    "no_new_privs is not kept": (seal.no_new_privs, ("prctl", LIES, (0, 39)), "EPERM"),
    "MDWE is not there": (seal.deny_write_execute, ("prctl", errno.EINVAL, (0, 65)), "EINVAL"),
    "MDWE is not kept": (seal.deny_write_execute, ("prctl", LIES, (0, 66)), "EPERM"),
    "the bounding set is refused": (seal.empty_bounding_set, ("prctl", errno.EPERM, (0, 24)), "EPERM"),
    "the bounding set has no end": (seal.empty_bounding_set, ("prctl", LIES, (0, 24)), "None"),
    "an ambient set is not there": (seal.drop_capabilities, ("prctl", errno.EINVAL, (0, 47)), "None"),
    "the ambient set is refused": (seal.drop_capabilities, ("prctl", errno.EPERM, (0, 47)), "EPERM"),
    "Landlock is not there": (seal.landlock_abi, (LANDLOCK, errno.ENOSYS), "ENOSYS"),
    "Landlock is off": (seal.landlock_abi, (LANDLOCK, errno.EOPNOTSUPP), "ENOTSUP"),
    "seccomp is not there": (lambda: seal.seccomp(bytes(8)), ("seccomp", errno.ENOSYS), "ENOSYS"),
    "a limit is refused": (lambda: seal.limit("NOFILE", 8), ("prlimit64", errno.EPERM, (2, "NE", 0)), "EPERM"),
    "a limit is not kept": (lambda: seal.limit("NOFILE", 8), ("prlimit64", LIES, (2, "NE", 0)), "EPERM"),
}


@pytest.mark.root
@pytest.mark.parametrize("kernel", STEPS)
def test_a_step_on_a_kernel_where(kernel: str) -> None:
    step, refused, outcome = STEPS[kernel]
    assert in_child(step, refused) == outcome


@pytest.mark.root
def test_a_root_that_is_not_empty_is_noticed() -> None:
    lies = [(name, LIES) for name in ("mount", "pivot_root", "umount2")]
    assert in_child(seal.empty_root, *lies) == "ENOTEMPTY"


def test_a_machine_that_nobody_knows_gets_no_filter_and_no_call_by_number() -> None:
    assert in_child(lambda: (anew(listener, machine=False)._FILTER, anew(stack).FILTER)) == "(b'', b'')"
    assert in_child(lambda: anew(seal, machine=False).unshare(0)) == "ENOSYS"


class _OtherLibrary:
    """A C library without the GNU one's names, as musl."""

    def __init__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("proc", [True, False])
def test_where_the_c_library_does_not_say_where_the_stack_ends_the_kernel_does(proc: bool) -> None:
    known = stack._top()
    assert known is not None

    def body() -> int | None:
        def nowhere(*_: object) -> None:
            raise ValueError("no such name")

        stack.ctypes = type("", (), {"CDLL": _OtherLibrary, "c_void_p": type("", (), {"in_dll": nowhere})})  # type: ignore[attr-defined]
        return stack._top()

    refused = () if proc else (("openat", errno.ENOENT),)
    said = in_child(body, *refused)
    if not proc:
        assert said == "None"
    else:
        assert 0 <= int(said) - known < 1 << 20  # the mapping ends behind arguments and environment


#: Each of the calls that cut or move a mapping.
_CUTS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
size, end = ctypes.c_size_t, ctypes.c_void_p(-1).value
libc.mmap.argtypes = [ctypes.c_void_p, size, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, size, size, ctypes.c_int]
libc.munmap.argtypes, libc.madvise.argtypes = [ctypes.c_void_p, size], [ctypes.c_void_p, size, ctypes.c_int]
def tried(page):
    calls = {
        "advised": lambda: libc.madvise(page, 4096, 4),
        "mapped": lambda: libc.mmap(page, 4096, 3, 0x32, -1, 0),
        "moved": lambda: libc.mremap(page, 4096, 8192, 1),
        "unmapped": lambda: libc.munmap(page, 4096),
    }
    return [name for name, call in calls.items() if call() not in (-1, end)]
"""


_EVERY_CUT = ["advised", "mapped", "moved", "unmapped"]


@pytest.mark.parametrize("below", [2 << 20, 15 << 20])
def test_the_stack_is_neither_cut_nor_moved_and_everything_else_is(below: int) -> None:
    known = stack._top()
    assert known is not None
    names: dict[str, Any] = {}
    exec(_CUTS, names)

    def body() -> object:
        page = (known & ~4095) - below
        elsewhere = names["libc"].mmap(None, 4096, 3, 0x22, -1, 0)
        if below < 8 << 20:
            ctypes.memset(page, 1, 4096)
        seal.no_new_privs()
        seal.seccomp(stack.FILTER)
        return names["tried"](page), names["tried"](elsewhere)

    assert in_child(body) == f"([], {_EVERY_CUT})"


@pytest.mark.parametrize("end", [5 << 32, (5 << 32) + (1 << 20), (5 << 32) - (1 << 20), (5 << 32) + (1 << 31)])
@pytest.mark.parametrize(
    ("off", "free"),
    [(-(17 << 20), True), (-(16 << 20), False), (0, False), ((16 << 20) - 4096, False), (16 << 20, True)],
)
def test_only_what_is_beside_a_stack_is_closed_wherever_it_ends(end: int, off: int, free: bool) -> None:
    """gVisor puts libraries above a stack; an upper and a lower half of an address are compared one after the other."""
    names: dict[str, Any] = {}
    exec(_CUTS, names)

    def body() -> object:
        names["libc"].mmap((end + off) & ~4095, 4096, 3, 0x32, -1, 0)
        seal.no_new_privs()
        seal.seccomp(stack.program(os.uname().machine, end))
        cuts = names["tried"]((end + off) & ~4095)
        return cuts, names["libc"].munmap(1 << 56, 4096), names["ctypes"].get_errno()  # with a tag: the filter's word

    assert in_child(body) == f"({_EVERY_CUT if free else []}, -1, {errno.ENOMEM})"


def test_a_kernel_without_user_notification_is_said_to_the_host() -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    assert in_child(lambda: listener.offer(theirs), ("seccomp", errno.EINVAL, (1, 8))) == "False"
    assert ours.recv(8) == listener.UNGATED


def test_a_listener_goes_to_the_host_and_stays_nowhere_else() -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

    def body() -> object:
        seal.no_new_privs()
        before = os.listdir("/proc/self/fd")
        return listener.offer(theirs), os.listdir("/proc/self/fd") == before

    assert in_child(body) == "(True, True)"
    data, ancillary, _, _ = ours.recvmsg(8, 64)
    (level, kind, numbers) = ancillary[0]
    assert (data, level, kind) == (listener.GATED, _socket.SOL_SOCKET, _socket.SCM_RIGHTS)
    os.close(array.array("i", numbers)[0])


def test_without_a_host_the_listener_is_closed_all_the_same() -> None:
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    ours.close()

    def body() -> object:
        seal.no_new_privs()
        before = os.listdir("/proc/self/fd")
        try:
            listener.offer(theirs)
        except BrokenPipeError:
            return os.listdir("/proc/self/fd") == before
        return None

    assert in_child(body) == "True"


# -- walls.py -----------------------------------------------------------------------------------------


def test_a_session_beside_others_says_of_each_wall_what_came_of_it() -> None:
    """Without namespaces of its own and a ruleset, and with limits and a filter that the kernel refuses."""
    ours, theirs = socket.socketpair()

    def body() -> None:
        walls.keep_only(theirs.fileno(), None)
        found = walls.enclose(None, own_namespaces=False)
        walls.confine(found, bytes(8), {"CPU": [1, 2], "NOFILE": 9})
        os.write(3, json.dumps(found.found).encode())

    refused = ("prlimit64", errno.EPERM, (2, "NE", 0)), ("seccomp", errno.ENOSYS)
    assert in_child(body, *refused) == "signal 0"  # the pipe of its word is closed as well
    theirs.close()
    found = json.loads(ours.recv(4096))
    assert "user-namespace" not in found and "landlock" not in found
    assert found["rlimits"][0] == "none" and found["rlimits"][1].count("RLIMIT_") == 2
    assert found["seccomp"] == ["none", "[Errno 38] seccomp: Function not implemented"]


def test_where_the_stack_is_not_known_the_sessions_own_filter_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "FILTER", b"")

    def body() -> object:
        found = walls.Walls()
        seal.no_new_privs()
        walls.confine(found, bytes([6, 0, 0, 0, 0, 0, 0xFF, 0x7F]), {})  # returns "allow"
        return found.found["seccomp"][0], open("/proc/self/status").read().split("Seccomp_filters:")[1].split()[0]

    assert in_child(body) == "('full', '1')"


def test_message_queues_stay_a_missing_wall_where_limits_are_missing() -> None:
    found = walls.Walls()
    walls.note_message_queues(found, "no")
    assert found.found == {}
    found.note("rlimits", "CORE 0")
    walls.note_message_queues(found, None)
    assert found.found == {"rlimits": ["full", "CORE 0"]}
    assert in_child(lambda: (walls.bound_message_queues(), resource.getrlimit(12))) == "(None, (0, 0))"


# -- boot.py ------------------------------------------------------------------------------------------


def test_signals_that_the_host_ignores_and_blocks_are_the_guests_again() -> None:
    def body() -> object:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        boot.default_signals()
        return signal.getsignal(signal.SIGTERM).name, signal.pthread_sigmask(signal.SIG_BLOCK, ())  # type: ignore[union-attr]

    assert in_child(body) == "('SIG_DFL', set())"


@pytest.mark.root
def test_where_an_id_is_not_mapped_nobody_is_taken_and_who_stays_root_is_refused() -> None:
    assert in_child(lambda: boot.leave_root(77_777), ("setresuid", errno.EINVAL, (0, 77_777))).startswith("uid 65534, gid 65534")
    assert in_child(lambda: boot.leave_root(77_777), ("setresuid", LIES), ("setresgid", LIES)) == "EPERM"
    assert in_child(lambda: boot.leave_root(77_777), ("setgroups", errno.EPERM)) == "EPERM"
    assert in_child(lambda: (boot.leave_root(77_777), boot.leave_root(88_888))[1]).startswith("uid 77777, gid 77777")


@pytest.mark.root
@pytest.mark.parametrize(
    ("refused", "missing"),
    [
        (("unshare", errno.EPERM), {"user", "mount", "network", "ipc", "pid"}),
        (("pidfd_open", errno.ENOSYS), {"pid"}),
        (("unshare", errno.EPERM, (0, seal.CLONE_NEWPID)), {"pid"}),
        (("unshare", errno.EPERM, (0, seal.CLONE_NEWUTS | seal.CLONE_NEWCGROUP)), set()),
    ],
)
def test_namespaces_that_a_kernel_does_not_give_are_missing_walls(refused: tuple[Any, ...], missing: set[str]) -> None:
    def body() -> str:
        found = walls.Walls()
        boot.enter_namespaces(found)
        assert len(found.found) == 5
        return ",".join(sorted(wall.removesuffix("-namespace") for wall, (level, _) in found.found.items() if level == "none"))

    said = in_child(body, *([(434, *refused[1:])] if refused[0] == "pidfd_open" else [refused]))
    assert (set(said.split(",")) if missing else set()) == (missing if missing else set()), said


def test_what_is_imported_from_files_is_named_with_them_and_nothing_else() -> None:
    def body() -> str:
        return json.dumps({name: where for name, *where in boot.imported()})

    found = json.loads(in_child(body))
    assert found["json"] == [json.__file__, str(Path(json.__file__).parent)]
    assert found["json.decoder"] == [json.decoder.__file__]
    assert not {"sys", "_socket", "typing.re"} & found.keys()


def test_what_imports_are_read_from_is_closed_when_all_is_imported() -> None:
    class Image:
        closed = 0

        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            assert not self.closed, name

        def close(self) -> None:
            self.closed += 1

    def body() -> int:
        image = Image()
        sys.meta_path.append(image)
        boot.preload()
        return image.closed

    assert in_child(body) == "1"


# -- probes.py ----------------------------------------------------------------------------------------


ATTEMPTS = probes.attempts(memory.map_pages)


def tried(what: str) -> str:
    """What an attempt says of a process without walls."""
    try:
        return f"won {ATTEMPTS[what]()}"
    except probes._Stopped as stopped:
        return f"stopped: {stopped}"


def own_network() -> None:
    seal.unshare(seal.CLONE_NEWNET)
    nested.loopback()


def served() -> str:
    own_network()
    with socket.create_server(("127.0.0.1", 9)):
        return tried("connecting to 127.0.0.1:9")


@pytest.mark.root
def test_every_attempt_wins_where_no_wall_stands() -> None:
    outcome = {what: in_child(lambda what=what: tried(what)) for what in ATTEMPTS if "127" not in what}
    # Process 2 may belong to nobody here; then there is nothing to signal.
    assert outcome.pop("signalling process 2") in ("won signalled", "ESRCH")
    assert all(each.startswith("won ") for each in outcome.values()), outcome
    assert in_child(served) == "won connected"
    assert in_child(lambda: (own_network(), tried("connecting to 127.0.0.1:9"))[1]) == "won the loopback device answered"


@pytest.mark.root
def test_an_empty_root_stops_who_lists_it() -> None:
    def body() -> str:
        seal.unshare(seal.CLONE_NEWNS)
        seal.empty_root()
        return tried("listing /")

    assert in_child(body) == "stopped: nothing there"


# -- prefork.py ---------------------------------------------------------------------------------------


def test_a_session_that_cannot_be_forked_leaves_no_descriptor() -> None:
    def full(_body: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "fork")

    def gone(_body: object) -> int:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        return pid

    before = os.listdir("/proc/self/fd")
    for spawn, error in ((full, BlockingIOError), (gone, ProcessLookupError)):
        with pytest.raises(error):
            prefork.Child(spawn, {}, None, own_namespaces=False)
    assert os.listdir("/proc/self/fd") == before


def test_a_kernel_without_pidfds_has_none() -> None:
    assert in_child(lambda: prefork.pidfd(os.getpid()), (434, errno.ENOSYS)) == "None"
