"""The host's end of a worker, whatever that does: it reads nothing, says too much, closes, lives on, dies of anything."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlm_secure.broker.protocol import decode
from rlm_secure.environments.deadline import Deadline, Overdue
from rlm_secure.environments.local import cgroup, pidfd
from rlm_secure.environments.local import worker as hosts
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.worker import Died, Worker
from rlm_secure.errors import (
    CellCrashed,
    CellMemoryLimit,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    WallViolation,
)
from rlm_secure.policy import load_policy

LIMITS = load_policy("strict").limits.model_copy(update={"start_seconds": 0.3, "grace_seconds": 0.1})
LARGE = {"op": "x", "data": "x" * (4 << 20)}
Make = Callable[..., Worker]


@pytest.fixture
def made() -> Iterator[Make]:
    """Makes workers: forked children that do what a test says with their end of the channel."""
    workers: list[tuple[int, Worker]] = []

    def make(body: Callable[[socket.socket], Any], *, forked: Any = None) -> Worker:
        ours, theirs = socket.socketpair()
        before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # it may be interrupted before its first line
        pid = os.fork()
        if pid == 0:
            try:
                ours.close()
                body(theirs)
            finally:
                os._exit(3)
        signal.signal(signal.SIGUSR1, before)
        theirs.close()
        number = os.pidfd_open(pid)
        workers.append((pid, Worker(ours, number, LIMITS, forked and forked(number))))
        return workers[-1][1]

    yield make
    for pid, worker in workers:
        worker.kill(wait=False)
        with contextlib.suppress(ChildProcessError):  # a test waited for it
            os.waitpid(pid, 0)
        number = worker.pidfd
        worker.drop()
        if worker._process is not None:
            os.close(number)


def waits(_channel: socket.socket) -> None:
    signal.pause()


def says(*data: bytes) -> Callable[[socket.socket], None]:
    def body(channel: socket.socket) -> None:
        for each in data:
            channel.sendall(each)
        signal.pause()

    return body


@pytest.mark.parametrize("bounded", [True, False])
def test_a_worker_that_reads_nothing_is_given_up(made: Make, bounded: bool) -> None:
    with pytest.raises(Overdue, match=r"did not read its request within 0\.3 s"):
        made(waits).send(LARGE, deadline=Deadline(60) if bounded else None)


def test_a_worker_whose_channel_broke_has_died(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = made(says(b"x"))
    select.select([worker._socket], [], [])

    def broken(*_: object) -> bytes:
        raise ConnectionResetError(errno.ECONNRESET, "reset")

    monkeypatch.setattr(worker, "_socket", SimpleNamespace(recv=broken))
    with pytest.raises(Died):
        worker._check_silence()
    monkeypatch.undo()
    with pytest.raises(ProtocolViolation, match="spoke when it was not asked"):
        worker._check_silence()


def test_a_worker_that_reads_slowly_is_stopped_by_its_deadline(made: Make) -> None:
    def body(channel: socket.socket) -> None:
        while channel.recv(64 << 10):
            time.sleep(0.01)

    with pytest.raises(Overdue) as raised:
        made(body).send({"data": "x" * (8 << 20)}, deadline=Deadline(0.05))
    assert raised.value.error.limit == "limits.cell_seconds"


def test_a_worker_whose_host_interrupts_it_is_stopped_while_it_is_told_something(made: Make) -> None:
    worker = made(waits)
    worker.interrupted.set()
    with pytest.raises(Overdue) as raised:
        worker.send(LARGE, deadline=Deadline(60))
    assert raised.value.error.limit in ("interrupt", "limits.start_seconds")


def test_a_stopped_worker_finds_its_request_when_it_wakes(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = made(lambda channel: (channel.recv(100), channel.sendall(b"x"), signal.pause()))
    worker.stop()
    unread: list[int] = []
    send_signal = pidfd.send_signal

    def woken(number: int, which: signal.Signals) -> bool:
        unread.append(struct.unpack("i", fcntl.ioctl(worker._socket, termios.TIOCOUTQ, bytes(4)))[0])
        return send_signal(number, which)

    monkeypatch.setattr(hosts.pidfd, "send_signal", woken)
    worker.send({"op": "x"})
    assert unread[0] > 0
    assert select.select([worker._socket], [], [], 10)[0]


def test_a_stopped_worker_gets_the_rest_of_a_large_request_when_it_runs(made: Make) -> None:
    def body(channel: socket.socket) -> None:
        left = 4 << 20
        while left > 0:
            left -= len(channel.recv(left))
        channel.sendall(b"x")
        signal.pause()

    worker = made(body)
    worker.stop()
    worker.send(LARGE, deadline=Deadline(60))
    assert select.select([worker._socket], [], [], 10)[0]


def test_a_stopped_worker_whose_channel_is_full_is_given_up(made: Make) -> None:
    worker = made(waits)
    with contextlib.suppress(BlockingIOError):
        while True:
            worker._socket.send(bytes(1 << 16), socket.MSG_DONTWAIT)
    worker.stop()
    with pytest.raises(Overdue, match=r"did not read its request within 0\.3 s"):
        worker.send({"op": "x"})


def test_a_stopped_worker_that_reads_no_more_has_died(made: Make) -> None:
    worker = made(lambda channel: (channel.shutdown(socket.SHUT_RD), signal.pause()))
    end = time.monotonic() + 10
    with contextlib.suppress(BrokenPipeError):
        while time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):  # it still reads, and is slow
                worker._socket.send(b"x", socket.MSG_DONTWAIT)
            time.sleep(0.01)
    worker.stop()
    with pytest.raises(Died):
        worker.send({"op": "x"})


def test_a_worker_that_is_gone_has_died(made: Make) -> None:
    worker = made(lambda channel: None)
    assert pidfd.ended(worker.pidfd, 10)
    with pytest.raises(Died):
        worker.send({"op": "x"})
    with pytest.raises(Died):
        worker.receive(Deadline(10))


def test_a_worker_that_breaks_its_socket_has_died(made: Make) -> None:
    deaf = made(lambda channel: (channel.shutdown(socket.SHUT_RD), channel.send(b"x"), signal.pause()))
    assert select.select([deaf._socket], [], [], 10)[0]
    deaf._socket.recv(1)
    with pytest.raises(Died):
        deaf.send({"op": "x"})
    careless = made(waits)  # it ends with something unread
    careless._socket.sendall(b"x")
    os.kill(careless.host_pid or 0, signal.SIGKILL)
    assert pidfd.ended(careless.pidfd, 10)
    with pytest.raises(Died):
        careless.send({"op": "x"})


def test_a_worker_does_not_run_while_its_host_decodes_or_encodes(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both take as long as a frame is large, and nobody looks at it meanwhile."""
    said: dict[str, Any] = {"op": "done", "stdout": "", "stderr": "", "variables": {}}
    body = json.dumps({**said, "cpu": 0, "peak": 0, "dropped": 0}).encode()
    worker = made(says(struct.pack(">I", len(body)) + body))
    states: list[str] = []

    def look() -> None:
        end = time.monotonic() + 5
        while (state := Path(f"/proc/{worker.host_pid}/stat").read_text().rpartition(")")[2].split()[0]) != "T":
            if time.monotonic() > end:
                break
            time.sleep(0.001)
        states.append(state)

    def decoded(data: bytearray, *, limit: int) -> dict[str, Any]:
        look()
        return decode(data, limit=limit)

    def encoded(message: object) -> str:
        look()
        return json.dumps(message)

    monkeypatch.setattr(hosts, "decode", decoded)
    monkeypatch.setattr(hosts, "_encode", encoded)
    worker.event(Deadline(10))
    worker.send({"op": "reply"})
    assert states == ["T", "T"]


def test_a_frame_over_the_limit_is_a_violation(made: Make) -> None:
    with pytest.raises(ProtocolViolation, match="a frame of 77 bytes, limit 7"):
        made(says(struct.pack(">I", 77))).receive(Deadline(10), limit=7)


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        (lambda channel: None, Died),
        (says(b"\x01"), ProtocolViolation),
        (says(b"\x02"), ProtocolViolation),
        (lambda channel: (socket.send_fds(channel, [b"\x00"], [0]), signal.pause()), ProtocolViolation),
        (waits, Overdue),
    ],
)
def test_what_is_no_listener_is_none(made: Make, body: Any, raised: type[Exception]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    worker = made(body)
    with pytest.raises(raised):
        worker.take_listener(Deadline(0.1 if body is waits else 10.0))
    assert len(os.listdir("/proc/self/fd")) == before + 2


def test_a_host_without_descriptors_blames_no_session_for_its_listener(made: Make) -> None:
    worker = made(lambda channel: (socket.send_fds(channel, [b"\x01"], [0]), signal.pause()))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(EnvironmentUnavailable, match="no descriptor left"):
            worker.take_listener(Deadline(10))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_socket_that_breaks_is_a_death(made: Make) -> None:
    worker = made(lambda channel: channel.recv(1))  # it leaves unread what would be a second byte
    worker._socket.sendall(b"xx")
    pidfd.ended(worker.pidfd, 10)
    with pytest.raises(Died):
        worker.take_listener(Deadline(10))


# -- its end ------------------------------------------------------------------------------------------


def test_a_worker_that_closes_its_channel_and_lives_on_is_a_violation(made: Make) -> None:
    def body(channel: socket.socket) -> None:
        channel.close()
        signal.pause()

    worker = made(body)
    closed = select.poll()
    closed.register(worker._socket, select.POLLIN)
    assert closed.poll(10_000)
    said = worker.verdict()
    assert isinstance(said, WallViolation) and "lived on" in str(said)
    assert pidfd.ended(worker.pidfd)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EMFILE])
def test_a_worker_that_nobody_sees_and_that_lives_on_is_a_violation_as_well(
    made: Make, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/proc with hidepid=2, for a host that is not root; or a host without descriptors."""

    def body(channel: socket.socket) -> None:
        channel.close()
        signal.pause()

    worker = made(body)
    closed = select.poll()
    closed.register(worker._socket, select.POLLIN)
    assert closed.poll(10_000)

    def hidden(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", hidden)
    said = worker.verdict()
    assert isinstance(said, WallViolation) and "lived on" in str(said)


def test_a_host_without_descriptors_does_not_say_that_a_worker_lived_on(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = gone(made(lambda channel: None, forked=first(3 << 8)))

    def full(*_: Any) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", full)
    assert "exit status 3" in str(worker.verdict())


def gone(worker: Worker) -> Worker:
    """`worker`, which has ended."""
    assert pidfd.ended(worker.pidfd, 10)
    return worker


def first(status: int | None, group: cgroup.Group | None = None) -> Callable[[int], SessionProcess]:
    """A session's first process, of which the zygote says that it ended with this status."""
    source: Any = SimpleNamespace(status=lambda _: status)
    return lambda number: SessionProcess(socket.socket(), number, 0, source, group)


def test_who_was_let_go_of_is_killed_by_nobody(tmp_path: Path) -> None:
    """close() of another thread may come that late: its descriptor and its group are another session's by then."""
    source: Any = SimpleNamespace(status=lambda _: 9, released=lambda: None)
    group = cgroup.Group(cgroup.Parents(2, (tmp_path,), "cgroup v2"))
    with subprocess.Popen(["sleep", "60"]) as ended, subprocess.Popen(["sleep", "60"]) as another:
        forked = SessionProcess(socket.socket(), os.pidfd_open(ended.pid), 0, source, group)
        forked.end()
        number = os.pidfd_open(another.pid)
        if number != forked.pidfd:
            os.dup2(number, forked.pidfd)
        kill = tmp_path / group._paths[0] / "cgroup.kill"
        kill.parent.mkdir(exist_ok=True)
        kill.write_text("")
        forked.kill()
        assert not pidfd.ended(number, 0.2)
        assert kill.read_text() == ""
        another.kill()
        for each in {number, forked.pidfd}:
            os.close(each)
    cgroup._live.discard(group)


@pytest.mark.parametrize(("listed", "asked"), [("77\n", [5]), ("", []), (None, [])])
def test_a_process_that_its_group_still_lists_is_reaped_before_that_is_given_back(
    tmp_path: Path, listed: str | None, asked: list[int]
) -> None:
    reaped: list[int] = []
    source: Any = SimpleNamespace(status=reaped.append, released=lambda: None)
    group = cgroup.Group(cgroup.Parents(2, (tmp_path,), "cgroup v2"))
    if listed is not None:
        (group._paths[0] / "cgroup.procs").write_text(listed)
    with subprocess.Popen(["sleep", "60"]) as ended:
        SessionProcess(socket.socket(), os.pidfd_open(ended.pid), 5, source, group).end()
    assert reaped == asked
    for kept in (cgroup._empty, cgroup._live):
        if group in kept:
            kept.remove(group)


def test_what_is_found_of_the_walls_is_the_session_s_own(made: Make) -> None:
    """Two sessions that report the same share no dict, and one that reports something else is not taken for the first."""

    def reports(level: str) -> Worker:
        body = json.dumps({"op": "ready", "walls": {"seccomp": [level, "as told"]}}).encode()
        return made(says(struct.pack(">I", len(body)) + body))

    one, same, other = (reports(level).ready(Deadline(10)) for level in ("full", "full", "none"))
    assert one == same == {"seccomp": ("full", "as told")}
    assert one is not same
    one["cgroup"] = ("full", "of one")
    assert reports("full").ready(Deadline(10)) == same
    assert other == {"seccomp": ("none", "as told")}
    with pytest.raises(ProtocolViolation):
        reports("fuller").ready(Deadline(10))


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (3 << 8, CellCrashed, "exit status 3"),
        (signal.SIGSYS, WallViolation, "forbidden system call"),
        (signal.SIGKILL, CellCrashed, "killed by SIGKILL"),
        (signal.SIGRTMIN + 3, CellCrashed, "killed by signal"),
    ],
)
def test_a_worker_s_death_is_what_the_kernel_says_of_it(made: Make, status: int, kind: type, said: str) -> None:
    verdict = gone(made(lambda channel: None, forked=first(status))).verdict()
    assert type(verdict) is kind and said in str(verdict)


def test_a_death_for_memory_is_the_groups(made: Make, tmp_path: Path) -> None:
    group = cgroup.Group(cgroup.Parents(2, (tmp_path,), "cgroup v2"))
    (group._paths[0] / "memory.events").write_text("oom_kill 1\n")
    assert isinstance(gone(made(lambda channel: None, forked=first(9, group))).verdict(), CellMemoryLimit)
    cgroup._live.discard(group)


@pytest.mark.parametrize("answers", [[OSError(errno.ENOTTY, "ioctl")], [None] * 50, [None, 9]])
def test_a_death_of_which_nobody_knows_the_cause_is_taken_for_a_violation(
    made: Make, answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels before 6.15 do not say it, and a zombie has no status until its parent asked."""
    worker = gone(made(lambda channel: None, forked=first(None)))

    def asked(_number: int) -> int | None:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer  # type: ignore[no-any-return]

    known = 9 in answers
    monkeypatch.setattr(pidfd, "wait_status", asked)
    assert isinstance(worker.verdict(), CellCrashed if known else WallViolation)
    assert not answers


# -- its seconds --------------------------------------------------------------------------------------


def test_seconds_that_nobody_saw_are_the_groups_where_it_counts_them(made: Make, tmp_path: Path) -> None:
    group = cgroup.Group(cgroup.Parents(2, (tmp_path,), "cgroup v2"))
    stat = group._paths[0] / "cpu.stat"
    for counted, used in ((None, 40.0), (2.0, 2.0), (0.0, 0.0)):
        stat.write_text("usage_usec 0\n")
        account = CpuAccount(100.0)
        worker = made(waits)
        account.open(worker, group)
        worker.cpu_seen, worker.cpu_ceiling = 0.0, 40.0  # it was not looked at for so long
        stat.write_text("" if counted is None else f"usage_usec {int(counted * 1e6)}\n")
        account.settle(worker)
        account.settle(worker)
        assert account.used() == pytest.approx(used, abs=0.5)
        account.close()
    cgroup._live.discard(group)
    assert isinstance(account.exceeded(), CellTimeout)


def test_a_worker_that_is_gone_has_nothing(made: Make) -> None:
    worker = made(lambda channel: None)
    assert pidfd.ended(worker.pidfd, 10)
    assert (worker.cpu_seconds(), worker.held_bytes()) == (None, None)
    os.waitid(os.P_PIDFD, worker.pidfd, os.WEXITED)
    later = Worker(socket.socket(), worker.pidfd, LIMITS)
    assert (later.host_pid, later.cpu_seconds(), later.held_bytes(), later.descriptors()) == (None, None, None, 0)
    later._socket.close()


def test_frames_that_come_together_are_read_one_by_one(made: Make) -> None:
    frames = [json.dumps({"n": number}).encode() for number in range(3)]
    worker = made(says(b"".join(len(each).to_bytes(4, "big") + each for each in frames)))
    assert [worker.receive(Deadline(30)) for _ in frames] == [{"n": number} for number in range(3)]


def test_two_threads_that_weigh_a_worker_open_its_files_once(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = made(waits)

    def other_thread(_pidfd: int) -> bool:
        worker._files["stat"] = os.open(f"/proc/{worker.host_pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        return False

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(pidfd, "ended", other_thread)
        assert worker._read("stat").startswith(b"%d " % worker.host_pid)
    assert len(os.listdir("/proc/self/fd")) == before + 1


def test_what_a_worker_holds_is_read_behind_any_number_of_groups(made: Make, tmp_path: Path) -> None:
    worker = made(waits)
    honest = worker.held_bytes()
    assert honest is not None
    groups = b"Groups:\t" + b" ".join(b"%d" % (4_294_900_000 + each) for each in range(65_536)) + b"\n"
    status = tmp_path / "status"
    status.write_bytes(groups + b"VmPTE:\t4096 kB\nVmSwap:\t1048576 kB\n")
    os.close(worker._files["status"])
    worker._files["status"] = os.open(status, os.O_RDONLY)
    held = worker.held_bytes()
    assert held is not None and held > 1 << 30


def test_what_a_worker_says_beyond_its_limits_is_cut_or_a_violation(made: Make) -> None:
    def body(channel: socket.socket) -> None:
        for fields in ({"stdout": "o" * (3 << 20), "stderr": "\u00e9" * 600_000}, {"variables": variables}):
            size = int.from_bytes(channel.recv(4), "big")
            nonce = json.loads(channel.recv(size, socket.MSG_WAITALL))["nonce"]
            empty = {"op": "done", "variables": {}, "answer": None, "error": None, "stdout": "", "stderr": ""}
            said = json.dumps({**empty, "dropped": 0, "peak": 0, "cpu": 0, **fields, "nonce": nonce}).encode()
            channel.sendall(len(said).to_bytes(4, "big") + said)
        signal.pause()

    variables = {f"v{number}": {"type": "int"} for number in range(257)}
    worker = made(body)
    worker.send({"op": "exec"})
    result = worker.result(Deadline(30))
    assert (len(result.stdout), len(result.stderr.encode())) == (LIMITS.stdout_bytes, LIMITS.stdout_bytes)
    assert result.dropped_bytes == (3 << 20) + 1_200_000 - 2 * LIMITS.stdout_bytes
    worker.send({"op": "exec"})
    with pytest.raises(ProtocolViolation, match="more than 256 variables"):
        worker.event(Deadline(30))
