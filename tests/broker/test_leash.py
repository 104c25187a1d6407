"""Who may not signal a process stops it and lets it go on, by the leash that somebody of its user gave, and no more."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guest.kernel.leash import Leash, attach
from rlm_secure.guest.supervisor import worker_link
from tests.broker.support import session
from tests.broker.test_apart import Listening
from tests.local.kernels import in_child

HOLDER, OWNER = 65533, 65534


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def comes(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not what() and time.monotonic() < deadline:
        time.sleep(0.002)
    return what()


@contextlib.contextmanager
def busy(uid: int | None = None) -> Iterator[int]:
    """A process that computes, and asks the kernel nothing."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"], user=uid) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def ticks(pid: int) -> int:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def of_owner(pid: int) -> tuple[int, ...]:
    """A leash on a process of OWNER, from somebody of this user."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(OWNER, OWNER, OWNER)
                socket.send_fds(theirs, [b"x"], attach(pid))
            finally:
                os._exit(0)
        _, ends, _, _ = socket.recv_fds(ours, 1, 2)
        os.waitpid(child, 0)
    return tuple(ends)


@pytest.mark.root
def test_another_user_stops_it_and_lets_it_go_on_and_can_do_nothing_else_to_it() -> None:
    with busy(OWNER) as pid, busy(OWNER) as other:
        ends = of_owner(pid)

        def holder() -> str:
            os.setresuid(HOLDER, HOLDER, HOLDER)
            for each in (pid, other):
                with pytest.raises(PermissionError):
                    os.kill(each, signal.SIGSTOP)
            held = Leash(*ends)
            for _ in range(200):  # far more than there is room for words
                held.send(signal.SIGSTOP)
                assert comes(lambda: state(pid) == "T")
                held.send(signal.SIGCONT)
                assert comes(lambda: state(pid) != "T")
            for number in (signal.SIGKILL, signal.SIGUSR1, 0):
                with pytest.raises(KeyError):
                    held.send(number)
            # To name a process, this one or another, takes one's own rights to signal it.
            for each in (pid, other):
                fcntl.fcntl(ends[0], fcntl.F_SETOWN, each)
                held.send(signal.SIGSTOP)
                assert not comes_soon(lambda each=each: state(each) == "T")  # type: ignore[misc]
            return "held"

        assert in_child(holder) == "held"
        for end in ends:
            os.close(end)


def comes_soon(what: Callable[[], bool]) -> bool:
    for _ in range(20):
        if what():
            return True
        time.sleep(0.001)
    return False


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("stopped", [True, False])
def test_who_lets_go_of_a_leash_changes_nothing(order: int, stopped: bool) -> None:
    with busy() as pid:
        ends = attach(pid)
        held = Leash(*ends)
        held.send(signal.SIGCONT)
        if stopped:
            held.send(signal.SIGSTOP)
            assert comes(lambda: state(pid) == "T")
        for end in ends[::order]:
            os.close(end)
            assert not comes_soon(lambda: (state(pid) == "T") is not stopped)


def test_the_end_of_its_holder_lets_nobody_go_on() -> None:
    with busy() as pid:
        ends = attach(pid)

        def holder() -> None:
            held = Leash(*ends)
            held.send(signal.SIGCONT)
            held.send(signal.SIGSTOP)
            for end in ends:  # above and below those that are there: however they are closed
                os.dup(end)
            os.kill(os.getpid(), signal.SIGKILL)

        ours = os.fork()
        if ours == 0:
            holder()
        for end in ends:
            os.close(end)
        os.waitpid(ours, 0)
        assert comes(lambda: state(pid) == "T")
        used = ticks(pid)
        assert not comes_soon(lambda: state(pid) != "T")
        assert ticks(pid) == used


@pytest.mark.parametrize("refused", [("fcntl", errno.EINVAL, (1, "EQ", command)) for command in (8, 10, 4)] + [("socketpair", errno.EMFILE)])
def test_a_kernel_without_gives_none_and_nothing_stays_open(refused: Any) -> None:
    def child() -> Any:
        before = sorted(os.listdir("/proc/self/fd"))
        return attach(os.getpid()), sorted(os.listdir("/proc/self/fd")) == before

    assert in_child(child, refused) == "((), True)"


def test_nobody_is_put_on_a_leash_where_there_is_nobody() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        assert attach(process.pid) == ()


# -- a worker on a leash ------------------------------------------------------------------------------------


class Signals:
    """The zygote: sends what it is asked to."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    def signal(self, pid: int, number: int) -> None:
        self.sent.append(number)
        os.kill(pid, number)


@contextlib.contextmanager
def led(leash: Callable[[int], Leash]) -> Iterator[tuple[worker_link.WorkerLink, Signals]]:
    ours, theirs = socket.socketpair()
    signals = Signals()
    with busy() as pid, theirs:
        made = worker_link.WorkerLink(ours, None, pid, 1000, signals, leash(pid))  # type: ignore[arg-type]
        try:
            yield made, signals
        finally:
            made.close()
            assert signals.sent.pop() == signal.SIGKILL


def real(pid: int) -> Leash:
    return Leash(*attach(pid))


def silent(pid: int) -> Leash:
    """Of a kernel that takes all of it, and sends no signal."""
    return Leash(*(each.detach() for each in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))


def backwards(pid: int) -> Leash:
    return Leash(*attach(pid)[::-1])


def broken(pid: int) -> Leash:
    """Whose other end is gone: it takes nothing."""
    one, other = (each.detach() for each in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    held = Leash(one, other)
    os.dup2(os.open(os.devnull, os.O_RDONLY), one)
    os.dup2(one, other)
    return held


def test_a_worker_is_stopped_by_its_leash_and_its_zygote_is_not_asked() -> None:
    with led(real) as (made, signals):
        for _ in range(100):
            made.signal(signal.SIGSTOP)
            assert made._is_stopped()  # at once: this is what an answer to the host waits for
            made.signal(signal.SIGCONT)
            assert not made._is_stopped()
        assert signals.sent == []
        made.signal(signal.SIGUSR2)
        assert signals.sent.pop() == signal.SIGUSR2


@pytest.mark.parametrize("leash", [silent, backwards, broken])
def test_a_leash_that_does_not_stop_is_let_go_of_and_the_zygote_stops(leash: Callable[[int], Leash]) -> None:
    with led(leash) as (made, signals):
        made.signal(signal.SIGSTOP)
        assert made._is_stopped()
        made.signal(signal.SIGCONT)
        assert not made._is_stopped()
        assert signals.sent == [signal.SIGSTOP, signal.SIGCONT]
        assert made._leash is None
        signals.sent.clear()


def test_a_leash_that_only_stops_is_let_go_of_and_the_zygote_continues() -> None:
    def half(pid: int) -> Leash:
        ends = attach(pid)
        fcntl.fcntl(ends[1], fcntl.F_SETFL, os.O_NONBLOCK)
        return Leash(*ends)

    with led(half) as (made, signals):
        made.signal(signal.SIGSTOP)
        assert (made._is_stopped(), signals.sent) == (True, [])
        made.signal(signal.SIGCONT)
        assert (made._is_stopped(), signals.sent) == (False, [signal.SIGCONT])
        signals.sent.clear()


def test_a_worker_that_cannot_be_looked_at_is_stopped_by_its_zygote(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in (b"", b"State:\nShdPnd:\t0", b"State:\tT (stopped)\n", b"State:\tT\nShdPnd:\tmany", b"no line"):
        with led(real) as (made, signals), monkeypatch.context() as patched:
            patched.setattr(worker_link.os, "pread", lambda *_, said=said: said)
            made.signal(signal.SIGSTOP)
            assert signals.sent == [signal.SIGSTOP]
            signals.sent.clear()


# -- in a session -------------------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(each.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(each.parent.name))
    return found


def wakes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as lines:
        return int(next(line for line in lines if line.startswith("voluntary_ctxt_switches")).split()[1])


CELLS = 100


@pytest.mark.root
@pytest.mark.parametrize("namespaces", [False, True])
def test_between_requests_a_worker_of_another_user_is_stopped(namespaces: bool) -> None:
    with session(None, Listening, supervisor_uid=HOLDER, namespaces=namespaces) as opened:
        lease: Any = opened.lease  # type: ignore[attr-defined]
        (zygote,) = children(lease.process.pid)
        opened.execute("kept = 7", None)
        if namespaces:
            (zygote,) = children(zygote)
        (worker,) = children(zygote)
        before = wakes(zygote)
        for _ in range(CELLS):
            assert opened.execute("print(kept)", None).stdout == "7\n"
            assert comes(lambda: state(worker) == "T")
        # The first process of a PID namespace takes no such signal but from a process above it: its zygote.
        assert (wakes(zygote) - before >= CELLS // 2) is namespaces
