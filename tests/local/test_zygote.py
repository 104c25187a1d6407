"""The process that sessions are forked from, spoken to by hand: on kernels that lack something, and by a bad host."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlm_secure.environments.local import pidfd
from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.guest.kernel import walls
from rlm_secure.guest.zygote import zygote
from tests.local.kernels import refuse

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

LANDLOCK, PIDFD = 444, 434
SECONDS = 60


class Guest:
    """A zygote in a child, and its host's end."""

    def __init__(self, *refused: tuple[Any, ...], statuses: int = 4096, reap: int = 1000, **config: Any) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(SECONDS)
        profiles = {name: compile_profile(name).hex() for name in ("worker", "worker-checkpoint")}
        everything = {"host_pid": os.getpid(), "uid": 77_777, "namespaces": True, "landlock": True, "mdwe": True}
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.control.close()
                os.closerange(theirs.fileno() + 1, 1 << 12)
                zygote._STATUSES, zygote._REAP_MILLISECONDS = statuses, reap
                if refused:
                    refuse(*refused)
                zygote.main(theirs.detach())
                os._exit(9)
            finally:
                os._exit(70)
        self.pidfd = os.pidfd_open(self.pid)
        theirs.close()
        self.control.send(json.dumps({**everything, "profiles": profiles, **config}).encode())

    def booted(self) -> dict[str, Any]:
        """Its walls, by name; and the level of each."""
        said = json.loads(self.control.recv(1 << 18))
        self.walls = said["walls"]
        return {wall: level for wall, (level, _) in self.walls.items()}

    def ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], list[int]]:
        self.control.send(json.dumps(message).encode())
        data, fds, _, _ = socket.recv_fds(self.control, 1 << 18, 4)
        return json.loads(data), fds

    def end(self) -> int:
        """Its exit status, once its host is gone."""
        self.control.close()
        return self.status()

    def status(self) -> int:
        if not pidfd.ended(self.pidfd, SECONDS):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Talk:
    """A session's socket, and what is told and heard on it."""

    def __init__(self, fds: list[int], pid: int) -> None:
        self.socket, self.pidfd, self.pid = socket.socket(fileno=fds[0]), fds[1] if fds[1:] else None, pid
        self.socket.settimeout(SECONDS)

    def say(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def hear(self) -> dict[str, Any]:
        size = struct.unpack(">I", self.take(4))[0]
        found: dict[str, Any] = json.loads(self.take(size))
        return found

    def take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += (more := self.socket.recv(size - len(data)))
            assert more, "the session is gone"
        return data


@contextlib.contextmanager
def session(guest: Guest) -> Iterator[Talk]:
    answer, fds = guest.ask({"op": "fork"})
    talk = Talk(fds, answer["pid"])
    yield talk
    talk.socket.close()
    if talk.pidfd is not None:
        assert pidfd.ended(talk.pidfd, SECONDS)
        os.close(talk.pidfd)


ALL_NAMESPACES = {f"{each}-namespace" for each in ("user", "mount", "network", "ipc", "pid")}
#: What a kernel refuses, or what nobody asks for; and the walls that are missing then.
KERNELS: dict[str, tuple[tuple[Any, ...], dict[str, Any], set[str]]] = {
    "this one": ((), {}, set()),
    "one without pidfds": (((PIDFD, errno.ENOSYS),), {}, {"pid-namespace"}),
    "one without namespaces": ((("unshare", errno.EPERM),), {}, {*ALL_NAMESPACES, "empty-root"}),
    "one without Landlock, MDWE and seccomp": (
        ((LANDLOCK, errno.ENOSYS), ("prctl", errno.EINVAL, (0, 65)), ("seccomp", errno.ENOSYS)),
        {},
        {"landlock", "memory-deny-write-execute", "seccomp"},
    ),
    "one that lets a filter through": (
        (),
        {"profiles": {"worker": compile_profile("worker", drop=frozenset("*")).hex()}},
        {"seccomp"},
    ),
    "one without limits of queues": ((("prlimit64", errno.EINVAL, (1, 12), (2, "NE", 0)),), {}, set()),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_zygote_and_a_session_on(kernel: str) -> None:
    refused, config, missing = KERNELS[kernel]
    guest = Guest(*refused, **config)
    levels = guest.booted()
    assert {wall for wall, level in levels.items() if level != "full"} == missing, guest.kernel.walls
    with session(guest) as talk:
        talk.say({"op": "setup", "profile": "worker", "limits": {"NPROC": 0}})
        assert talk.hear()["op"] == "ready"
        answer, _ = guest.ask({"op": "signal", "pid": talk.pid, "number": 9})
        assert answer == {}
        assert guest.ask({"op": "signal", "pid": 1, "number": 9})[0] == {}, "no process of others"
        assert talk.socket.recv(1) == b""
        assert guest.ask({"op": "status", "pid": talk.pid})[0]["status"] == 9
        assert guest.ask({"op": "status", "pid": talk.pid})[0]["status"] is None, "it is told once"
    assert guest.end() == 0


def limits_of(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{pidfd.pid_of(process)}/limits").read_text().splitlines()[1:]
    return {line[:26].strip(): line[26:] for line in lines}


def test_what_is_forked_while_the_walls_are_tested_is_walled_in_as_every_other() -> None:
    guest = Guest()
    with session(guest) as first:  # the configuration is the only message before it
        levels = guest.booted()
        assert set(levels.values()) == {"full"}
        with session(guest) as second:
            said = []
            for talk in (first, second):
                talk.say({"op": "setup", "profile": "worker", "limits": {"NPROC": 0}})
                assert talk.pidfd is not None
                said.append((talk.hear(), limits_of(talk.pidfd)))
            assert said[0] == said[1]
            assert said[0][1]["Max msgqueue size"].split() == ["0", "0", "bytes"]
    assert guest.end() == 0


def test_a_zygote_that_raises_no_wall_says_so_of_each() -> None:
    off = {"worker": None, "worker-checkpoint": None}
    guest = Guest(namespaces=False, landlock=False, mdwe=False, profiles=off)
    levels = guest.booted()
    assert not {"landlock", "memory-deny-write-execute", "seccomp", *ALL_NAMESPACES} & set(levels)
    assert levels["empty-root"] == "none"
    with session(guest) as talk:
        talk.say({"op": "setup", "profile": "worker", "limits": {}})
        assert "seccomp" not in talk.hear()["walls"]
        assert guest.ask({"op": "status", "pid": talk.pid})[0]["status"] is None, "it lives"
    assert guest.end() == 0


BEGIN = {
    "op": "begin", "stdout_bytes": 999, "screen": True, "modules": [], "tools": {}, "value_bytes": 999,
    "result_bytes": 9999, "source_bytes": 999, "ast_nodes": 99,
}  # fmt: skip


@pytest.mark.parametrize("warm", [True, False])
def test_a_session_that_is_told_how_it_begins_answers_the_next_request(warm: bool) -> None:
    guest = Guest()
    guest.booted()
    with session(guest) as talk:
        talk.say({"op": "setup", "profile": "worker", "limits": {"NPROC": 0}, "begin": BEGIN, "warm": warm})
        assert talk.hear()["op"] == "ready"
        talk.say({"op": "exec", "code": "print(6 * 7)"})
        assert talk.hear()["stdout"] == "42\n"
    assert guest.end() == 0


@pytest.mark.parametrize("gated", [True, False])
def test_a_session_with_checkpoints_is_one_without_where_forks_cannot_be_held_up(gated: bool) -> None:
    guest = Guest(*(() if gated else (("seccomp", errno.EINVAL, (1, 8)),)), statuses=1)
    guest.booted()
    with session(guest) as unwanted:
        pass
    with session(guest) as talk:
        talk.say({"op": "setup", "profile": "worker-checkpoint", "limits": {"NPROC": 4}})
        data, fds, _, _ = socket.recv_fds(talk.socket, 1, 1)
        assert (data, len(fds)) == ((b"\x01", 1) if gated else (b"\x00", 0))
        assert ("NPROC 4" in talk.hear()["walls"]["rlimits"][1]) is gated
    for fd in fds:
        os.close(fd)
    # Both have ended; of one status there is room.
    assert talk.pidfd is not None
    assert guest.ask({"op": "status", "pid": talk.pid})[0]["status"] == 0
    assert guest.ask({"op": "status", "pid": unwanted.pid})[0]["status"] is None
    assert guest.end() == 0


def test_a_session_is_not_told_the_end_of_an_earlier_one_with_its_pid(monkeypatch: pytest.MonkeyPatch) -> None:
    host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    host.settimeout(SECONDS)
    child = SimpleNamespace(pid=os.getppid(), connection=host, pidfd=None, close=lambda: None)
    monkeypatch.setattr(zygote.prefork, "Child", lambda *_, **__: child)
    monkeypatch.setattr(zygote._Zygote, "_reap", lambda self: None)
    with host, control:
        made = zygote._Zygote(control, None, {"profiles": {}}, walls.Walls())
        made._statuses = {child.pid: signal.SIGSYS, 1: 0}
        made._fork(leashed=False)
        assert made._status(child.pid) is None and made._statuses == {1: 0}


def test_what_a_zygote_cannot_do_it_says() -> None:
    guest = Guest(modules=[["re"], []])
    guest.booted()
    with session(guest) as talk:
        assert guest.ask({"op": "signal", "pid": talk.pid, "number": 999})[0] == {"error": "[Errno 22] Invalid argument"}
    assert guest.ask({"op": "serve"})[0] == {"error": "no such request: serve"}
    assert guest.end() == 0


def test_a_session_that_ends_is_reaped_although_nobody_asks() -> None:
    guest = Guest(reap=5)
    guest.booted()
    with session(guest) as talk:
        assert talk.pidfd is not None
        number = pidfd.pid_of(talk.pidfd)
        os.kill(number, signal.SIGKILL)  # type: ignore[arg-type]
        deadline = time.monotonic() + SECONDS
        while Path(f"/proc/{number}").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        assert not Path(f"/proc/{number}").exists()
    assert guest.end() == 0


def test_a_host_that_dies_ends_the_zygote_although_somebody_holds_its_socket() -> None:
    ours, theirs = socket.socketpair()
    host = os.fork()
    if host == 0:
        guest = Guest()
        guest.booted()
        socket.send_fds(theirs, [b"x"], [guest.control.fileno()])
        signal.pause()
    _, (held,), _, _ = socket.recv_fds(ours, 1, 1)
    os.kill(host, signal.SIGKILL)
    os.waitpid(host, 0)
    with socket.socket(fileno=held) as control:
        control.settimeout(SECONDS)
        assert control.recv(9) == b""


def test_a_host_that_is_gone_ends_the_zygote() -> None:
    assert Guest(host_pid=os.getppid()).status() == 9, "its parent is not the host"
    guest = Guest()
    guest.booted()
    guest.control.send(json.dumps({"op": "status", "pid": 1}).encode())
    select.select([guest.control], [], [], SECONDS)
    assert guest.end() == 0, "its answer was not read"


def test_a_package_of_the_host_that_cannot_be_loaded_ends_the_zygote() -> None:
    broken = {"names": ["rlm_secure_has_no_such_package"], "paths": []}
    guest = Guest(packages=broken)
    assert guest.control.recv(1) == b"", "the host's own folders: no image is to blame"
    assert guest.end() == 70


def test_a_host_that_goes_before_the_answer_ends_the_zygote() -> None:
    guest = Guest(namespaces=False)
    guest.booted()
    os.kill(guest.pid, signal.SIGSTOP)
    os.waitpid(guest.pid, os.WUNTRACED)
    guest.control.send(json.dumps({"op": "status", "pid": 1}).encode())
    guest.control.close()
    os.kill(guest.pid, signal.SIGCONT)
    assert guest.status() == 0
