"""A zygote of another uid comes to its supervisor's door, and the supervisor gives up what it no longer needs."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker import signed
from rlm_secure.environments.remote import supervisor as reported
from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.guarantees import Level, Wall
from rlm_secure.guest.kernel import seal
from rlm_secure.guest.supervisor import privileges, zygote_link
from rlm_secure.guest.zygote import apart
from rlm_secure.removal import Scratch
from tests.broker.support import ProcessLease, policy, session
from tests.emulators.base import anybodys_python, as_user
from tests.local.kernels import in_child


@pytest.fixture
def path() -> Iterator[str]:
    with Scratch(prefix="rlm") as folder:  # tmp_path is too long for a socket
        yield f"{folder}/zygote"


# -- the door -----------------------------------------------------------------------------------------------


def knock(path: str, *, answers: bool = True) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as visitor:
        visitor.connect(path)
        _, fds, _, _ = socket.recv_fds(visitor, 16, 1)
        if answers:
            visitor.send(b"here")
            visitor.recv(1)
        for fd in fds:
            os.close(fd)


@contextlib.contextmanager
def knocking(path: str, **options: Any) -> Iterator[None]:
    visitor = threading.Thread(target=knock, args=(path,), kwargs=options)
    visitor.start()
    yield
    visitor.join()


def test_the_door_takes_one_of_the_uid_that_was_told_and_closes(path: str) -> None:
    listener = apart.ZygoteListener(path)
    assert os.stat(path).st_mode & 0o777 == 0o666  # who comes is another user
    with knocking(path), open(os.devnull, "wb") as errors:
        control, pid = listener.accept(os.getuid(), errors.fileno())
        control.close()
    assert pid == os.getpid()
    assert not os.path.exists(path)


def test_the_door_refuses_another_uid(path: str) -> None:
    listener = apart.ZygoteListener(path)
    with knocking(path), open(os.devnull, "wb") as errors, pytest.raises(OSError, match=f"came as uid {os.getuid()}"):
        listener.accept(os.getuid() + 1, errors.fileno())
    assert not os.path.exists(path)


def test_the_door_takes_nobody_whom_the_kernel_does_not_name(path: str) -> None:
    listener = apart.ZygoteListener(path)
    with (
        knocking(path, answers=False),
        open(os.devnull, "wb") as errors,
        pytest.raises(OSError, match=r"does not say who came|came as uid"),
    ):
        listener.accept(os.getuid(), errors.fileno())


def test_nobody_comes(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_WAIT_SECONDS", 0.05)
    zygote = zygote_link.ZygoteLink("no bundle", path)
    with pytest.raises(SystemExit, match="no zygote came: timed out"):
        zygote.configure({"uid": 1})
    os.close(zygote._errors)
    os.close(zygote._their_errors)
    with pytest.raises(FileNotFoundError):
        apart.become_zygote(path)


def test_who_comes_too_early_waits_and_becomes_a_plain_zygote(path: str) -> None:
    def comes() -> None:
        def execve(program: str, command: list[str], around: dict[str, str]) -> None:
            goes_on = os.get_inheritable(int(command[-1]))
            raise SystemExit([program == command[0], command[-2], goes_on, sorted(around)])

        os.environ["SECRET"] = "x"
        apart.os.execve = execve  # type: ignore[assignment]
        apart.become_zygote(path)

    said: list[str] = []
    child = threading.Thread(target=lambda: said.append(in_child(comes)))
    child.start()
    time.sleep(0.1)  # nobody is at the door yet
    with open(os.devnull, "wb") as errors:
        control, pid = apart.ZygoteListener(path).accept(os.getuid(), errors.fileno())
    child.join(20)
    with control:
        assert pid != os.getpid()
    assert said == [f"SystemExit([True, 'zygote', True, {sorted(apart.environment())}])"]


def test_credentials_are_found_among_other_words_of_the_kernel() -> None:
    class Control:
        def setsockopt(self, *_: object) -> None: ...

        def sendmsg(self, *_: object) -> None: ...

        def recvmsg(self, *_: object) -> Any:
            return b"here", [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b""), credentials], 0, None

    credentials = (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack("=iII", 7, 1000, 1000))
    assert apart._introduced(Control(), 2) == (7, 1000)  # type: ignore[arg-type]


# -- both of them -------------------------------------------------------------------------------------------

OTHER = 65531
AS_OTHER = as_user(OTHER)


class BesideLease(ProcessLease):
    """As a container has it: the supervisor is one user, and somebody else starts the zygote as another."""

    def __init__(self, loaded: Any, **options: Any) -> None:
        with Scratch(prefix="rlm") as folder:
            self.beside: subprocess.Popen[bytes] | None = None
            os.chmod(folder, 0o711)
            self._started(loaded, f"{folder}/zygote", options)

    def _started(self, loaded: Any, path: str, options: dict[str, Any]) -> None:
        plain, python = subprocess.Popen, anybodys_python(OTHER)

        def popen(command: list[str], **arguments: Any) -> Any:
            for each in ("..", "."):
                os.chmod(Path(command[6]).parent / each, 0o755)  # the other user reads the bundle in there
            self.beside = plain([python, *command[1:-1], "zygote", path], **AS_OTHER, env={"SECRET": "x"})
            return plain([*command, "--zygote", path], **arguments)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(subprocess, "Popen", popen)
            super().__init__(loaded, uid=OTHER, **options)
        self.client.health(seconds=30)

    def close(self) -> None:
        super().close()
        assert self.beside is not None
        self.beside.kill()
        self.beside.wait()


@pytest.mark.root
def test_a_zygote_beside_its_supervisor_serves_it_and_ends_with_it() -> None:
    with session(policy(cell_seconds=1.0, grace_seconds=0.2), BesideLease, namespaces=False) as opened:
        assert opened.report[Wall.SEPARATE_UID].level is Level.FULL
        assert f"worker {OTHER}" in opened.report[Wall.SEPARATE_UID].evidence
        assert opened.report[Wall.EMPTY_ENVIRONMENT].level is Level.FULL
        lease: Any = opened.lease  # type: ignore[attr-defined]
        with open(f"/proc/{lease.beside.pid}/environ") as file:
            assert "SECRET" not in file.read()
        opened.load_context("context_0", "ab" * 1000)
        opened.execute("kept = 7", None)
        assert opened.execute("sum(range(10**13))", None).error is not None  # killed, by its zygote
        assert opened.execute("print(kept, len(context_0))", None).stdout == "7 2000\n"
        lease.process.kill()
        assert lease.beside.wait(timeout=20) == 0


class Listening(ProcessLease):
    def connect(self, transport: Any, policy: Any) -> Any:
        # Root's own directory takes no connection of somebody else.
        directory = Path(transport.directory)
        for each in (directory, directory.parent):
            os.chmod(each, 0o711)
        os.chmod(directory / "broker", 0o666)
        return super().connect(transport, policy)


@pytest.mark.root
def test_a_supervisor_that_starts_as_root_becomes_another_user_than_its_worker() -> None:
    loaded = policy(cell_seconds=1.0, grace_seconds=0.2)
    with session(loaded, Listening, supervisor_uid=65533, namespaces=False) as opened:
        assert opened.report[Wall.SEPARATE_UID].evidence == "the supervisor is uid 65533, the worker 65534"
        lease: Any = opened.lease  # type: ignore[attr-defined]
        status = Path(f"/proc/{lease.process.pid}/status").read_text()
        for line in ("Uid:\t65533\t65533\t65533\t65533", "CapEff:\t" + "0" * 16, "CapBnd:\t" + "0" * 16, "Seccomp:\t2"):
            assert line in status
        opened.execute("kept = 7", None)
        assert opened.execute("sum(range(10**13))", None).error is not None
        assert opened.execute("print(kept)", None).stdout == "7\n"


# -- what a supervisor gives up -----------------------------------------------------------------------------


def sealed(body: Callable[[], Any], *, connects: bool = True, signals: bool = True, **own: Any) -> str:
    """What `body` says in a child that was sealed as a supervisor is."""
    config = {"uid": None, "landlock": True, "filter": compile_profile("supervisor").hex()} | own

    def child() -> Any:
        privileges.drop(config, connects=connects, signals=signals)
        return body()

    return in_child(child)


def facts(**own: Any) -> dict[str, Any]:
    config = {"uid": None, "landlock": True, "filter": compile_profile("supervisor").hex()} | own
    return dict(eval(in_child(lambda: privileges.drop(config, connects=False, signals=True)), {}))


REFUSED = {
    "a file": lambda: open("/etc/passwd").read(1),
    "a file in /proc to write": lambda: open("/proc/self/comm", "w").write("x"),
    "a list": lambda: os.listdir("/"),
    "a new file": lambda: open("/tmp/rlm-supervisor", "x"),
    "a program": lambda: os.execv("/bin/true", ["true"]),
    "a child": os.fork,
    "tcp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "udp": lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "another's memory": lambda: seal._raw(310, "process_vm_readv", 1, None, 0, None, 0, 0),
    "another user": lambda: os.setuid(1000),
    "a namespace": lambda: seal.unshare(seal.CLONE_NEWUSER),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_sealed_supervisor_is_refused(what: str) -> None:
    assert sealed(REFUSED[what]) in ("EPERM", "EACCES")


def test_a_sealed_supervisor_keeps_what_its_duties_need() -> None:
    def duties() -> str:
        fd = os.memfd_create("context", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.write(fd, b"x" * 10_000)
        os.close(os.dup(fd))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
        return open("/proc/self/statm").read()[:0] + "all of it"

    assert sealed(duties) == "all of it"


@pytest.mark.skipif(seal.landlock_abi() < 6, reason="this kernel's Landlock scopes no signals")
def test_a_supervisor_that_signals_nobody_cannot() -> None:
    parent = os.getpid()
    assert sealed(lambda: os.kill(parent, 0), signals=True) == "None"
    assert sealed(lambda: os.kill(parent, 0), signals=False) == "EPERM"


def test_a_seal_that_is_not_there_is_told() -> None:
    assert facts() | {"uids": 0} == {
        "privileges": "root, as it was started" if os.getuid() == 0 else "none",
        "landlock": f"ABI {min(seal.landlock_abi(), 10)}", "filter": f"{len(compile_profile('supervisor')) // 8} instructions",
        "uids": 0, "open a file": "EACCES", "make a file": "EPERM", "execve": "EPERM", "fork": "EPERM", "socket": "EPERM",
    }  # fmt: skip
    bare = facts(landlock=False, filter=None)
    assert "landlock" not in bare
    assert {bare[what] for what in ("open a file", "make a file", "fork", "socket")} == {"won"}
    assert bare["execve"] == "EACCES"


def test_a_kernel_without_landlock_leaves_the_filter() -> None:
    config = {"uid": None, "landlock": True, "filter": compile_profile("supervisor").hex()}

    def child() -> Any:
        return privileges.drop(config, connects=True, signals=True)

    said = dict(eval(in_child(child, ("landlock_create_ruleset", 38)), {}))
    assert (said["landlock"], said["open a file"], said["make a file"]) == ("ENOSYS", "won", "EPERM")
    around = {"supervisor": said, "worker_uids": [1, 1, 1, 1]}
    levels = {status.wall: status.level for status in reported.walls(signed.around(around))}
    assert levels[Wall.SEALED_SUPERVISOR] is Level.PARTIAL


@pytest.mark.root
def test_root_gives_its_socket_to_whom_it_becomes(path: str) -> None:
    Path(path).touch()
    privileges.hand_over(path, 65533)
    assert (os.stat(path).st_uid, os.stat(os.path.dirname(path)).st_mode & 0o777) == (65533, 0o711)
    privileges.hand_over(["127.0.0.1", 1], 65533)  # a port is nobody's


@pytest.mark.root
def test_who_is_not_root_becomes_nobody_else() -> None:
    def child() -> Any:
        seal.become(65532)
        return privileges.drop({"uid": 65533, "landlock": False, "filter": None}, connects=False, signals=True)

    said = eval(in_child(child), {})
    assert (said["privileges"], said["uids"]) == ("none", [65532] * 3)


@pytest.mark.root
def test_root_without_the_right_to_become_somebody_else_stays_and_says_so() -> None:
    def child() -> Any:
        said = privileges.drop({"uid": 65533, "landlock": False, "filter": None}, connects=False, signals=True)
        with open("/proc/self/status") as lines:
            return said, [line.split()[1] for line in lines if line.startswith(("CapPrm", "CapEff"))]

    said, capabilities = eval(in_child(child, ("setgroups", 1)), {})
    assert (said["privileges"], said["uids"]) == ("EPERM", [0, 0, 0])
    assert capabilities == ["0" * 16] * 2


# -- what the host makes of it ------------------------------------------------------------------------------

SEALED = {"uids": [1, 1, 1]} | {what: ends[0] for what, ends in reported.REFUSED.items()}


def judged(around: dict[str, Any]) -> dict[Wall, Level]:
    return {status.wall: status.level for status in reported.walls(signed.around(around))}


def test_two_users_and_a_sealed_supervisor_are_two_walls() -> None:
    assert judged({"supervisor": SEALED, "worker_uids": [2, 2, 2, 2]}) == {
        Wall.SEPARATE_UID: Level.FULL, Wall.SEALED_SUPERVISOR: Level.FULL,
    }  # fmt: skip


@pytest.mark.parametrize("uids", [[1] * 4, [2, 1, 2, 2], [], [2] * 3, ["2"] * 4, [True] * 4, [-1] * 4, [1 << 32] * 4, None, 10**400])
def test_users_that_are_not_two_are_told_as_not_separated(uids: Any) -> None:
    (status, _) = reported.walls(signed.around({"supervisor": SEALED, "worker_uids": uids}))
    assert (status.wall, status.level) == (Wall.SEPARATE_UID, Level.NONE)
    assert status.evidence.startswith("not separated")


@pytest.mark.parametrize("uids", [[0, 0, 0], [1, 1, 0], [], None])
def test_root_is_no_sealed_supervisor(uids: Any) -> None:
    (_, status) = reported.walls(signed.around({"supervisor": SEALED | {"uids": uids}}))
    assert status.level is Level.PARTIAL
    assert status.evidence.startswith("uid 0" if uids else "uid ?")


@pytest.mark.parametrize("what", reported.REFUSED)
@pytest.mark.parametrize("ends", ["won", None, "\x1b[2J", ["EPERM"], {"EPERM": 1}, "E" * 1000])
def test_what_a_supervisor_can_still_do_is_told(what: str, ends: Any) -> None:
    (_, status) = reported.walls(signed.around({"supervisor": SEALED | {what: ends}}))
    assert status.level is Level.PARTIAL
    assert f"{what}: {'won' if ends == 'won' else '?'}" in status.evidence


@pytest.mark.parametrize("said", [None, [], "x", {}, {"uids": {}}])
def test_odd_words_of_a_supervisor_are_no_walls(said: Any) -> None:
    assert set(judged({"supervisor": said}).values()) == {Level.NONE}
