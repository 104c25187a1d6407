"""Copies of a worker: who may live in a session, what all of them may use together, and whom a hostile one delays."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import struct
import subprocess
import termios
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from rlm_secure import (
    CellCrashed,
    CellMemoryLimit,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    Sandbox,
    SessionEnded,
    WallViolation,
)
from rlm_secure.environments import replay, request_log
from rlm_secure.environments.deadline import Overdue
from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local import session as local
from rlm_secure.environments.local.cgroup import CgroupBounds, Group, Parents
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.environments.local.weight import weigh
from rlm_secure.environments.local.worker import Worker
from rlm_secure.guarantees import Wall
from rlm_secure.testing import Unscreened, unscreened
from tests.local.conftest import HOSTILE, Boundless, strict

BUDGET = "limits.session_cpu_seconds"
#: Longer than any honest checkpoint, shorter than `limits.start_seconds`.
SECONDS = 10.0


def session_of(box: Sandbox | Unscreened) -> LocalSession:
    session = box._repl._session if isinstance(box, Sandbox) else box._session
    assert isinstance(session, LocalSession)
    return session


def population(session: LocalSession) -> set[int]:
    """Who lives in the session, init included, as this host's /proc tells."""
    init = session._root.host_pid
    return set() if init is None else {init} | pidfd.descendants(init)


def taught(box: Unscreened, code: str) -> LocalSession:
    session = session_of(box)
    session._copy_cost.outweighed = lambda *_, **__: True  # type: ignore[method-assign]  # a checkpoint soon
    assert box.run(textwrap.dedent(code)).error is None
    return session


# -- CPU seconds of the whole session -----------------------------------------------------------------


BURN = "x = 0\nfor i in range({0}): x += i"


def test_cpu_seconds_are_those_of_all_copies_together():
    with Sandbox(policy=strict(session_cpu_seconds=2.0, cells=1000)) as box:
        session = session_of(box)
        copies, seconds = 0, 0.0
        for _ in range(400):
            result = box.run(BURN.format(400_000))
            seconds += result.execution_time
            if result.error is not None:
                break
            copies += session.checkpoint()
        assert copies > 3  # each with an RLIMIT_CPU that counts from zero
        assert isinstance(result.error, CellTimeout) and result.error.session_ended
        assert result.error.limit == BUDGET
        assert 1.9 <= session._cpu.used() < 3.0
        assert seconds > 1.4  # and no honest one ends for seconds that it has not used
        with pytest.raises(SessionEnded, match="session_cpu_seconds = 2 s"):
            box.run("1")


def test_a_cell_in_the_first_copy_ends_with_the_limit_of_its_session():
    with Sandbox(policy=strict(session_cpu_seconds=1.0)) as box:
        started = time.monotonic()
        result = box.run("while True: pass")
        assert time.monotonic() - started < SECONDS
        assert (result.error.limit, result.error.session_ended) == (BUDGET, True)


def test_what_cannot_be_interrupted_ends_with_the_limit_of_its_session():
    with Sandbox(policy=strict(session_cpu_seconds=0.5)) as box:
        box.run("x = 1")
        assert session_of(box).checkpoint()
        result = box.run("sum(range(10**11))")
        assert (result.error.limit, result.error.session_ended) == (BUDGET, True)


def test_copies_that_were_killed_are_counted():
    with Sandbox(policy=strict(session_cpu_seconds=1.5, cell_cpu_seconds=0.5, resumes=100, cells=1000)) as box:
        box.run("x = 1")
        assert session_of(box).checkpoint()
        errors = []
        for _ in range(12):
            errors.append(box.run("sum(range(10**11))").error)
            if errors[-1].session_ended:
                break
        assert errors[0].limit == "limits.cell_cpu_seconds"
        assert (errors[-1].limit, errors[-1].session_ended) == (BUDGET, True)
        assert len(errors) <= 4


def test_a_cell_that_calls_all_the_time_has_no_more_cpu_seconds_than_another():
    with Sandbox(policy=strict(cell_cpu_seconds=1.0, cell_seconds=60.0), tools={"tool": lambda: 1}) as box:
        result = box.run("while True:\n    tool()\n    for i in range(20_000): pass")
        assert result.error.limit == "limits.cell_cpu_seconds"


def test_a_worker_that_uses_its_seconds_while_nobody_looks_is_ended_by_the_kernel(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "_CHECKPOINT_SECONDS", 60.0)  # or its clock would end the session, kernel or not
    # After its answer, where no cell runs: the host looks at it when the next one begins.
    code = "def done(self, request):\n    fd = self._channel.take_fd()\n    burn(60)\nreplace(done)"
    with unscreened(policy=strict(session_cpu_seconds=1.0)) as box:
        session = taught(box, HOSTILE + code)
        assert not session.checkpoint()
        error = box.run("1").error
        assert error is not None and error.limit == BUDGET
        assert not session.alive


def kernel_limit(worker: Worker) -> int:
    """CPU seconds after which the kernel ends it, looked at or not."""
    limits = Path(f"/proc/{worker.host_pid}/limits").read_text()  # prlimit(2) is not for every root
    [line] = [line for line in limits.splitlines() if line.startswith("Max cpu time")]
    return int(line.split()[3])


def test_a_worker_that_begins_anew_has_what_is_left_and_not_a_whole_session_s_seconds():
    with unscreened(policy=strict(session_cpu_seconds=4.0, cell_seconds=60.0)) as box:
        session = session_of(box)
        session._cpu.lost(2.5)
        result = box.run("import os\nos._exit(0)")
        assert "resumed" in result.stderr and session._spare is None
        assert kernel_limit(session._worker) <= 3  # 1.5 s are left: rounded up, and one more


@pytest.mark.parametrize("group", [True, False])
def test_an_init_that_is_retired_runs_no_longer_than_its_session_may(hostile: Unscreened, group: bool):
    session = taught(hostile, "Worker._retire = lambda self, request: burn(60)")
    process = session._process
    assert process is not None
    if group and process.group is None:
        process.group = Boundless(CgroupBounds(1 << 30, 8, 1.0))
    elif not group:
        without_group(session)
    assert session.checkpoint() and session._spare is session._root
    session._cpu.lost(session._cpu.left() - 0.5)
    assert session.checkpoint() and session._spare is not session._root
    assert state(session._root) == "T"
    assert session._cpu.left() > -1.5


def state(worker: Worker) -> str:
    """What the kernel says that it does; a signal takes a moment."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = Path(f"/proc/{worker.host_pid}/stat").read_text().rpartition(")")[2].split()[0]
        if found == "T" or time.monotonic() > deadline:
            return found
        time.sleep(0.001)


def test_a_worker_at_rest_runs_no_more(hostile: Unscreened):
    session = taught(hostile, "")
    assert state(session._worker) == "T"
    with session._lock:  # or an idle session's checkpoint finds that it does not answer, and ends it
        assert hostile.run("conclude()\nburn(60)").error is None
        assert state(session._worker) == "T"


#: What a worker says after its result: with it at once, or where the host has not read it yet.
SECOND = """
body = json.dumps({{"op": "done", "stdout": " " * {0}, "stderr": "", "dropped": 0, "variables": {{}}, "answer": None,
    "error": None, "cpu": 0.0, "peak": 1, "nonce": channel.nonce}}).encode()
first = len(body).to_bytes(4, "big") + body
os.write(3, first + first)
time.sleep(600)
"""


SECOND_BODY = json.dumps(
    {"op": "done", "stdout": "", "stderr": "", "dropped": 0, "variables": {}, "answer": None}
    | {"error": None, "cpu": 0.0, "peak": 1, "nonce": "0123456789abcdef"}
)


def test_a_second_result_is_no_result_of_the_next_cell(hostile: Unscreened):
    with pytest.raises(ProtocolViolation, match="spoke when it was not asked"):
        hostile.run(SECOND.format(1))
    assert not session_of(hostile).alive


def test_a_result_that_nobody_has_read_is_no_result_of_the_next_cell(hostile: Unscreened):
    padding = 65536 - 4 - len(SECOND_BODY)  # all that the host reads at once
    assert hostile.run(SECOND.format(padding)).error is None
    with pytest.raises(ProtocolViolation, match="spoke when it was not asked"):
        hostile.run("print('the next cell')")


def test_a_call_is_answered_only_where_nothing_came_behind_it():
    said = """
call = {"op": "call", "call": "tool", "tool": "tool", "args": [], "kwargs": {}, "nonce": channel.nonce}
call = json.dumps(call).encode()
call = len(call).to_bytes(4, "big") + call
os.write(3, call + call)
time.sleep(600)
"""
    with unscreened(policy=strict()) as box, pytest.raises(ProtocolViolation, match="spoke when it was not asked"):
        session_of(box).execute(HOSTILE + said, lambda call: 1)


#: A call of which the answer is not waited for.
CALL = """
def call():
    said = {"op": "call", "call": "tool", "tool": "tool", "args": [], "kwargs": {}, "nonce": channel.nonce}
    body = json.dumps(said).encode()
    return len(body).to_bytes(4, "big") + body
"""


def test_a_worker_does_not_run_while_its_call_is_answered(hostile: Unscreened):
    session = session_of(hostile)
    states: list[str] = []

    def answer(_call: Any) -> int:
        states.append(state(session._worker))
        return 1

    read = "burn(0.2)\nchannel.receive()\nprint('went on')"
    result = session.execute(CALL + "os.write(3, call())\n" + read, answer)
    assert (states, result.stdout, result.error) == (["T"], "went on\n", None)


def test_memory_is_looked_at_before_a_call_is_answered():
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        without_group(session)
        session._copies, session._worker.weighed = False, True
        session._worker._limits = session._worker._limits.model_copy(update={"memory_bytes": 8 << 20})
        answered: list[Any] = []
        kept = HOSTILE + CALL + "x = b'x' * (64 << 20)\nos.write(3, call())\nchannel.receive()\ndel x"
        result = session.execute(kept, answered.append)
        assert (type(result.error), answered) == (CellMemoryLimit, [])


def test_a_copy_that_answers_with_a_call_is_not_adopted(hostile: Unscreened):
    session = taught(
        hostile,
        CALL
        + textwrap.dedent("""
        def ask(self, request):
            fd = self._channel.take_fd()
            if os.fork() == 0:
                os.dup2(fd, 3)
                os.write(3, call())
                burn(60)
            os.close(fd)
        replace(ask)
        """),
    )
    assert not session.checkpoint()
    assert not session.alive and "only a result" in session._ended


def test_an_answer_before_its_request_was_read_is_none():
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        session._copies = False
        transmit = session._transmit

        def slowly(entry: Any, clock: Any) -> None:
            transmit(entry, clock)
            time.sleep(0.05)  # it answers what it has not read meanwhile

        said = SECOND.partition("os.write")[0].format(1)
        said += "os.write(3, first)\ntime.sleep(0.3)\nos.write(3, first)\ntime.sleep(600)"
        assert box.run(HOSTILE + said).error is None
        session._transmit = slowly  # type: ignore[method-assign]
        with pytest.raises(ProtocolViolation, match="had not read what it was told"):
            box.run("print('the next cell')")


def test_a_result_is_none_of_a_request_that_was_read_after_it_was_written():
    """The second result is written when the worker runs again, and its request is read before the host looks."""
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        session._copies = False
        said = SECOND.partition("os.write")[0].format(1)
        said += "os.write(3, first)\ntime.sleep(0.3)\nos.write(3, first)\nchannel.receive()\nchannel.receive()"
        assert box.run(HOSTILE + said).error is None
        event = session._worker.event

        def late(clock: Any) -> Any:
            while struct.unpack("i", fcntl.ioctl(session._worker._socket, termios.TIOCOUTQ, bytes(4)))[0]:
                time.sleep(0.001)
            return event(clock)

        session._worker.event = late  # type: ignore[method-assign]
        with pytest.raises(ProtocolViolation, match="had not read what it was told"):
            box.run("print('the next cell')")


def test_what_a_worker_has_written_counts_whatever_it_is_called():
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        without_group(session)
        session._copies, session._worker.weighed = False, True
        assert box.run("x = 'x' * (64 << 20)").error is None
        # The kernel would stop it there; what it does not count as data gets past it.
        session._worker._limits = session._worker._limits.model_copy(update={"memory_bytes": 8 << 20})
        result = box.run("1")
        assert isinstance(result.error, CellMemoryLimit)
        assert (result.error.limit, result.error.session_ended) == ("limits.memory_bytes", True)
        with pytest.raises(SessionEnded, match="limits.memory_bytes = 8,388,608"):
            box.run("1")


KEEPER = """
kept = []
def keep(self, request):
    kept.append(self._channel.take_fd())
    return conclude()
Worker._context = keep
"""


@pytest.mark.parametrize("copied", [True, False])
def test_a_context_that_is_kept_by_its_descriptor_ends_the_session(hostile: Unscreened, copied: bool):
    session = taught(hostile, KEEPER)
    if session._worker.descriptors_at_rest == 0:
        pytest.skip("Linux before 6.2 does not say how many descriptors a process has")
    if copied:
        assert session.checkpoint()
    with pytest.raises(ProtocolViolation, match="keeps descriptors that it was given"):
        session.load_context("context", "x" * 100)
    assert not session.alive


def test_a_context_that_is_not_kept_leaves_no_descriptor():
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        for value in ("text", "t\xe9xt", "\u0100", ["a list"], "t"):
            session.load_context("context", value)
            assert session.checkpoint()
        assert box.run("print(context)").stdout == "t\n"


def test_who_is_gone_has_no_descriptors():
    with Sandbox(policy=strict()) as box:
        worker = session_of(box)._worker
        worker.kill()
        assert worker.descriptors() == 0


#: So many pages, each with page tables of its own: 16 KiB for 8.
SCATTERED = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for place in range(1 << 36, (1 << 36) + ({0} << 31), 1 << 31):
    there = libc.mmap(place - 4096, 8192, 1, 0x4022, -1, 0)
    ctypes.string_at(there + 4095, 2)
"""


def test_a_worker_whose_memory_nobody_sees_is_ended(monkeypatch: pytest.MonkeyPatch):
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        session._copies, session._worker.weighed = False, True
        assert box.run("1").error is None
        monkeypatch.setattr(session._worker, "_read", lambda name: b"")
        result = box.run("1")
        assert isinstance(result.error, CellMemoryLimit) and "hidden from its host" in str(result.error)


def test_a_worker_that_has_ended_is_not_taken_for_one_that_hides():
    with Sandbox(policy=strict()) as box:
        worker = session_of(box)._worker
        worker.weighed = True
        worker.weigh()
        worker.kill()
        while worker.held_bytes() is not None:  # until init has reaped it
            time.sleep(0.001)
        worker.weigh()


def test_a_report_says_where_nobody_sees_the_memory_of_a_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Group, "limit", lambda self, bounds: os.close(-1))  # a group that bounds nothing
    with Sandbox(policy=strict()) as box:
        assert session_of(box)._worker.weighed
    monkeypatch.setattr(Worker, "_read", lambda self, name: b"")
    with Sandbox(policy=strict()) as box:
        assert not session_of(box)._worker.weighed
        assert "cannot see what a worker holds" in session_of(box).report[Wall.RLIMITS].evidence


def test_page_tables_count():
    with unscreened(policy=strict(memory_bytes=64 << 20)) as box:
        session = session_of(box)
        without_group(session)
        session._copies, session._worker.weighed = False, True
        before = session._worker.held_bytes()
        assert box.run(SCATTERED.format(1000)).error is None
        assert session._worker.held_bytes() - before > 12 << 20
        assert isinstance(box.run(SCATTERED.format(8000)).error, CellMemoryLimit)


#: Half of a checkpoint: one of both holds page tables, as nothing else may hold more than its policy grants.
HEAVY_COPY = """
def heavy(self, request):
    fd = self._channel.take_fd()
    if {0!r} == "the-copy":
        if os.fork() == 0:
            scatter()
            time.sleep(600)
    elif os.fork():
        os.close(fd)
        scatter()
    else:
        os.dup2(fd, 3)
        os.write(3, bytes([0, 0]))
    time.sleep(600)
replace(heavy)
def scatter():
"""


@pytest.mark.parametrize("who", ["the-copy", "its-parent"])
def test_both_halves_of_a_checkpoint_are_looked_at(who: str):
    policy = strict(memory_bytes=64 << 20)
    with unscreened(policy=policy) as box:
        session = session_of(box)
        without_group(session)
        session._worker.weighed = True
        code = HOSTILE + HEAVY_COPY.format(who) + textwrap.indent(SCATTERED.format(8000), "    ")
        assert box.run(code).error is None
        assert not session.checkpoint()
        assert not session.alive and "limits.memory_bytes" in session._ended


def test_who_has_ended_weighs_nothing():
    ended = subprocess.Popen(["true"])
    ended.wait()
    weigh(ended.pid, strict().limits)
    with pytest.raises(Overdue) as overdue:
        weigh(os.getpid(), strict(memory_bytes=-(32 << 20)).limits)
    assert overdue.value.final and isinstance(overdue.value.error, CellMemoryLimit)


def test_an_init_that_takes_memory_instead_of_letting_go_is_not_waited_for(hostile: Unscreened):
    keep = "kept = [str(i) for i in range(1_500_000)]\ndef heavy(self, request):\n    more = 'x' * (100 << 20)\n"
    code = keep + textwrap.indent(SCATTERED.format(4000), "    ") + "    time.sleep(600)\nWorker._retire = heavy"
    session = taught(hostile, code)
    without_group(session)
    root, limit = session._root, 140 << 20
    root.weighed = True
    root._limits = root._limits.model_copy(update={"memory_bytes": limit})
    seen: list[int] = []
    stop = root.stop

    def noted(stopped: bool = True) -> None:
        seen.append(root.held_bytes() or 0)
        stop(stopped)

    root.stop = noted  # type: ignore[method-assign]
    for _ in range(2):  # the first makes it the spare, the second lets go of it
        session.checkpoint()
    assert not session.alive and "limits.memory_bytes" in session._ended
    assert max(seen, default=0) < limit  # it was ended before the time was over that it has for letting go


def test_the_parent_of_a_copy_does_not_run_while_a_retired_init_lets_go(hostile: Unscreened):
    busy = """
Honest = Worker._checkpoint
def busy(self, request):
    said = Honest(self, request)
    if said is None: burn(60)
    return said
Worker._retire = lambda self, request: time.sleep(600)
replace(busy)
"""
    session = taught(hostile, busy)
    without_group(session)
    assert session.checkpoint() and session._spare is session._root
    held: list[str] = []
    slim = session._slim

    def looked(request: Any) -> bool:
        held.append(state(session._spare))
        return slim(request)

    session._slim = looked  # type: ignore[method-assign]
    session.checkpoint()
    assert held == ["T"] and session.alive


def test_the_parent_of_a_copy_is_looked_at_before_a_retired_init_is_waited_for(hostile: Unscreened):
    session = session_of(hostile)
    without_group(session)
    assert session.checkpoint()
    parent = session._worker
    session._slim = lambda request: pytest.fail("nobody looked at it")  # type: ignore[method-assign]
    copy = session._copy

    def grown(*given: Any) -> Worker | None:
        fresh = copy(*given)
        parent.weighed, parent._limits = True, parent._limits.model_copy(update={"memory_bytes": -(32 << 20)})
        return fresh

    session._copy = grown  # type: ignore[method-assign]
    assert not session.checkpoint()
    assert not session.alive and "limits.memory_bytes" in session._ended


def test_what_waits_in_reserve_runs_no_more(hostile: Unscreened):
    session = taught(
        hostile,
        """
        def fork_and_burn(self, request):
            fd = self._channel.take_fd()
            if os.fork():
                os.close(fd)
                burn(60)
            os.dup2(fd, 3)
            os.close(fd)
            return conclude()
        replace(fork_and_burn)
        """,
    )
    assert session.checkpoint(), session._ended
    spare = session._spare
    assert spare is not None
    time.sleep(0.1)
    first = spare.cpu_seconds()
    time.sleep(0.5)
    assert spare.cpu_seconds() == first


# -- who lives in a session -----------------------------------------------------------------------------


def test_an_honest_session_has_its_init_a_spare_and_a_worker():
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        for turn in range(4):
            box.run(f"x = {turn}")
            assert session.checkpoint(), session._ended
        deadline = time.monotonic() + SECONDS
        while len(population(session)) > 3 and time.monotonic() < deadline:
            time.sleep(0.01)  # the spare that was replaced is about to end
        assert population(session) == {w.host_pid for w in (session._root, session._spare, session._worker)}


def without_group(session: LocalSession) -> None:
    """As on a machine without cgroups."""
    process = session._process
    assert process is not None
    if process.group is not None:
        process.group.remove()
        process.group = None


def test_without_a_cgroup_an_honest_session_keeps_its_spare():
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        without_group(session)
        box.run("x = [str(i) for i in range(300_000)]")
        for _ in range(3):
            assert session.checkpoint()
        assert session._root.held_bytes() < 64 << 20
        assert "resumed" in box.run("sum(range(10**11))", timeout=0.2).stderr
        assert box.run("print(len(x))").stdout == "300000\n"


def test_without_a_cgroup_an_init_that_takes_memory_ends_its_session(hostile: Unscreened):
    session = taught(hostile, "kept = [str(i) for i in range(1_500_000)]\nWorker._retire = lambda self, request: None")
    without_group(session)
    session._root.weighed = True
    session._root._limits = session._root._limits.model_copy(update={"memory_bytes": 8 << 20})
    assert not session.checkpoint()
    assert not session.alive and "limits.memory_bytes" in session._ended


@pytest.mark.parametrize("unbounded", [True, False])
def test_without_a_cgroup_an_init_that_keeps_its_memory_leaves_no_spare(hostile: Unscreened, unbounded: bool):
    session = taught(hostile, "kept = [str(i) for i in range(1_500_000)]\nWorker._retire = lambda self, request: None")
    without_group(session)
    if unbounded:  # there is one, of which the kernel took no bounds
        session._process.group = Boundless()
    copies = [session.checkpoint() for _ in range(4)]
    session._process.group = None
    assert copies[0] is True
    assert copies[-1] is False
    assert session.alive and session._spare is None
    assert population(session) == {session._root.host_pid, session._worker.host_pid}
    assert hostile.run("print(len(kept))").stdout == "1500000\n"


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_copy_is_made_for_one_request(hostile: Unscreened, when: str):
    # The second fork waits for a consent that never comes, whoever makes it.
    session = taught(
        hostile,
        f"""
        when = {when!r}
        def fork_twice(self, request):
            fd = self._channel.take_fd()
            if when == "before" and os.fork() == 0:
                os.close(fd)
                while True: time.sleep(1)
            child = os.fork()
            if when == "after" and child and os.fork() == 0:
                while True: time.sleep(1)
            if child:
                os.close(fd)
                return
            os.dup2(fd, 3)
            os.close(fd)
            return conclude()
        replace(fork_twice)
        """,
    )
    session.checkpoint()
    if session.alive:
        assert population(session) <= {w.host_pid for w in (session._root, session._spare, session._worker)}
        session.checkpoint()  # who waits in clone(2) now is not the one that is asked
    else:
        assert population(session) == set()
    assert len(population(session)) <= 3


def test_a_fork_that_nobody_asked_for_ends_the_session(hostile: Unscreened):
    started = time.monotonic()
    result = hostile.run("os.fork()\nwhile True: pass")
    assert isinstance(result.error, WallViolation) and result.error.session_ended
    assert "nobody asked for" in str(result.error)
    assert time.monotonic() - started < SECONDS
    assert population(session_of(hostile)) == set()


@pytest.mark.parametrize("who", ["worker", "spare"])
def test_a_fork_between_cells_waits_for_ever(hostile: Unscreened, who: str):
    session = taught(
        hostile,
        f"""
        def fork_again(self, request):
            fd = self._channel.take_fd()
            parent = os.fork()
            if (parent != 0) == ({who!r} == "spare"):
                if parent == 0:
                    os.dup2(fd, 3)
                    os.write(3, b"")
                os.fork()
                while True: time.sleep(1)
            if parent:
                os.close(fd)
                return
            os.dup2(fd, 3)
            os.close(fd)
            return conclude()
        replace(fork_again)
        """,
    )
    for _ in range(3):
        session.checkpoint()
        known = {w.host_pid for w in (session._root, session._spare, session._worker, session._leaving) if w}
        assert population(session) <= known


@pytest.mark.parametrize("answers", ["nobody", "the-old-one"])
def test_a_copy_that_does_not_come_forward_ends_the_session(hostile: Unscreened, answers: str):
    session = taught(
        hostile,
        f"""
        def hide(self, request):
            fd = self._channel.take_fd()
            if os.fork() == 0:
                os.close(fd)
                while True: time.sleep(1)
            if {answers!r} == "nobody":
                os.close(fd)
                return
            os.dup2(fd, 3)
            return conclude()
        replace(hide)
        """,
    )
    init = session._root.host_pid
    assert not session.checkpoint()
    assert not session.alive
    assert not Path(f"/proc/{init}").exists() or population(session) == set()


def test_a_worker_that_ends_at_once_leaves_no_copy_behind(hostile: Unscreened):
    session = taught(
        hostile,
        """
        def orphan(self, request):
            fd = self._channel.take_fd()
            if os.fork() == 0:
                os.close(fd)
                while True: time.sleep(1)
            os._exit(0)
        replace(orphan)
        """,
    )
    session.checkpoint()
    with suppress(SessionEnded):
        hostile.run("x = 1")
    assert population(session) <= {session._root.host_pid, session._worker.host_pid}


#: A copy that runs for a while and ends before anybody looks, made by a worker that says that it made none.
GHOST = """
def ghost(self, request):
    fd = self._channel.take_fd()
    end = time.monotonic() + 0.8
    if os.fork() == 0:
        while time.monotonic() < end: pass
        os._exit(0)
    time.sleep(max(end + 0.1 - time.monotonic(), 0))
    {0}
replace(ghost)
"""


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("way_out", ["os.close(fd)", "os._exit(0)", "time.sleep(600)", "os.write(fd, b'x')"])
def test_a_copy_that_ran_and_was_never_adopted_is_counted_and_has_no_successor(
    hostile: Unscreened, way_out: str, group: bool
):
    session = taught(hostile, GHOST.format(way_out))
    if not group:
        without_group(session)
        session._cpu._group = None
    before = session._cpu.used()
    assert not session.checkpoint()
    assert session._cpu.used() - before > 0.7
    if session.alive:
        hostile.run("x = 1")  # where its worker has died, it goes on in a new one
        hostile.run(HOSTILE + GHOST.format(way_out))
        started = session._cpu.used()
        assert not session.checkpoint()
        assert session._cpu.used() - started < 0.5


def test_a_copy_that_ends_as_it_comes_forward_is_counted(hostile: Unscreened, monkeypatch: pytest.MonkeyPatch):
    session = taught(
        hostile,
        """
        def brief(self, request):
            fd = self._channel.take_fd()
            if os.fork():
                os.close(fd)
                return
            os.dup2(fd, 3)
            burn(0.5)
            os.write(3, b"x")
            time.sleep(0.1)
            os._exit(0)
        replace(brief)
        """,
    )
    parent_of = pidfd.parent_of

    def ended(handle: int) -> int | None:
        parent = parent_of(handle)
        assert pidfd.ended(handle, 10)  # it lived when it was asked who it is, and not any more
        return parent

    monkeypatch.setattr(pidfd, "parent_of", ended)
    without_group(session)
    session._cpu._group = None
    before = session._cpu.used()
    assert not session.checkpoint()
    assert session._cpu.used() - before > 0.5


@pytest.mark.parametrize("seconds", [0.4, 60])  # no more than the half second in which nobody would look at it
def test_a_worker_that_closes_its_channel_runs_no_more(hostile: Unscreened, seconds: float):
    """Nobody looks at it: what it holds, or uses, is bounded by nothing from then on."""
    hostile.run("import time")
    result = hostile.run(f"os.close(3)\ntime.sleep({seconds})\nos._exit(0)")
    assert isinstance(result.error, WallViolation) and "lived on" in str(result.error)
    assert not session_of(hostile).alive


def test_what_a_group_counts_is_used_although_nobody_knows_who_used_it(hostile: Unscreened, tmp_path: Path):
    group = Group(Parents(2, (tmp_path,), "a file"))
    (usage,) = (path / "cpu.stat" for path in group._paths)
    usage.write_text("usage_usec 1000000\n")
    account = CpuAccount(600.0)
    account.open(session_of(hostile)._worker, group)
    usage.write_text("usage_usec 500000000\n")
    assert account.used() == 499.0
    assert account.left_at_last_look() == 101.0
    account.close()
    usage.write_text("usage_usec 900000000\n")  # by another session, which has the group then
    assert account.used() == 499.0


def test_the_death_of_a_worker_is_seen_although_its_spare_holds_the_channel_open(hostile: Unscreened):
    session = taught(
        hostile,
        """
        def keep(self, request):
            fd = self._channel.take_fd()
            if os.fork():
                return  # and the descriptor stays open
            os.dup2(fd, 3)
            os.close(fd)
            return conclude()
        replace(keep)
        """,
    )
    session._worker.descriptors_at_rest = 0  # before Linux 6.2 nobody can count them
    assert session.checkpoint(), session._ended
    started = time.monotonic()
    hostile.run("os._exit(1)")
    assert time.monotonic() - started < SECONDS


def test_what_a_killed_cell_falls_back_to_has_one_deadline_and_not_one_for_each_earlier_cell():
    with unscreened(policy=strict(cell_seconds=2.5)) as box:
        session = session_of(box)
        session._copies = False
        code = "import time\nturn = {0}\nif time.time() > {1}: time.sleep(1.0)"
        until = time.time() + 3.0
        for turn in range(12):
            assert box.run(code.format(turn, until)).error is None
        assert session._log is not None and len(session._log) == 12
        time.sleep(max(until - time.time(), 0))
        started = time.monotonic()
        result = box.run("import os\nos._exit(0)")
        assert time.monotonic() - started < 6  # twelve seconds of sleep
        assert result.error is not None and result.error.session_ended
        assert "were not done in" in result.stderr
        assert not session.alive


def test_a_log_counts_what_it_takes_in_memory():
    entry = request_log.LogEntry({"op": "exec", "code": "\U0001f600" * 1_000_000})
    assert entry.size >= 4_000_000
    entry.answered({"op": "reply", "value": [{} for _ in range(200_000)]})  # 12.8 MB
    assert entry.heavy and entry.replies == []


@pytest.mark.parametrize("most", [{"LOG_ATTACHMENTS": 2}, {}])
def test_a_log_that_holds_more_contexts_than_it_may_is_given_up(most: dict[str, int], monkeypatch: pytest.MonkeyPatch):
    for name, number in most.items():
        monkeypatch.setattr(replay, name, number)
    size = 4096 if most else 400_000
    with Sandbox(policy=strict(context_bytes=1 << 20)) as box:
        session = session_of(box)
        session._copies = False
        kept = []
        for _ in range(3):
            session.load_context("context", "x" * size)
            kept.append(session._log is not None)
        assert kept == [True, True, False]


def test_what_a_killed_cell_falls_back_to_is_bounded_by_its_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 0.2)
    with unscreened(policy=strict(cell_seconds=20.0, run_seconds=1.0)) as box:
        session_of(box)._copies = False
        until = time.time() + 0.1
        assert box.run(f"import time\nif time.time() > {until}: time.sleep(60)").error is None
        time.sleep(max(until - time.time(), 0))
        started = time.monotonic()
        assert box.run("import os\nos._exit(0)").error.session_ended
        assert time.monotonic() - started < SECONDS


def test_checkpoints_that_come_to_nothing_twice_are_the_last(hostile: Unscreened):
    session = taught(hostile, "def none(self, request): os.close(self._channel.take_fd())\nreplace(none)")
    assert not session.checkpoint() and session._copies
    assert not session.checkpoint() and not session._copies
    assert session.alive and session._spare is None
    assert "resumed" in hostile.run("os._exit(0)").stderr  # by its log, which is bounded otherwise


def stalled(hostile: Unscreened) -> LocalSession:
    """A session whose next cell begins with a checkpoint that is never answered."""
    session = taught(hostile, "def stall(self, request): time.sleep(600)\nreplace(stall)")
    session._log_seconds = 1.0
    return session


def test_a_checkpoint_before_a_cell_has_the_time_of_its_caller(hostile: Unscreened):
    session = stalled(hostile)
    result = hostile.run("pass", timeout=0.1)
    assert isinstance(result.error, CellTimeout) and "the 0.1 s that its caller gave it" in str(result.error)
    assert result.execution_time < 1.5 and session.alive


def test_a_checkpoint_before_a_cell_is_interrupted_with_it(hostile: Unscreened):
    session = stalled(hostile)
    timer = threading.Timer(0.1, session.interrupt)
    timer.start()
    result = hostile.run("pass")
    timer.join()
    assert (result.error.limit, result.error.session_ended) == ("interrupt", False)
    assert result.execution_time < 1.5


#: A copy that was let through, lives, and never comes forward, of a worker that has a spare.
HIDDEN = """
def hide(self, request):
    fd = self._channel.take_fd()
    if os.fork() == 0:
        while True: pass
    time.sleep(600)
replace(hide)
"""


@pytest.mark.parametrize("way_out", ["timeout", "interrupt"])
def test_a_copy_that_has_not_come_forward_in_its_caller_s_time_does_not_outlive_that(hostile: Unscreened, way_out: str):
    session = session_of(hostile)
    assert session.checkpoint() and taught(hostile, HIDDEN)._spare is session._root
    session._log_seconds = 1.0
    before, began = session._cpu.used(), time.monotonic()
    timer = threading.Timer(0.5, session.interrupt)
    if way_out == "interrupt":
        timer.start()
    result = hostile.run("pass", timeout=1.2 if way_out == "timeout" else None)
    timer.cancel()
    assert isinstance(result.error, CellTimeout) and "resumed" in result.stderr
    assert time.monotonic() - began < SECONDS
    assert hostile.run("x = 1").error is None  # nobody who was let through costs the session what it had
    assert population(session) == {session._root.host_pid}
    assert session._cpu.used() - before > 0.4  # it ran all that time


def test_a_copy_that_cannot_be_ended_ends_its_session(hostile: Unscreened, monkeypatch: pytest.MonkeyPatch):
    session = session_of(hostile)
    assert session.checkpoint() and taught(hostile, HIDDEN).alive
    session._log_seconds = 1.0
    with subprocess.Popen(["sleep", "600"]) as stranger:
        monkeypatch.setattr(session, "_strangers", lambda: {stranger.pid})
        with pytest.raises(SessionEnded, match="could not be ended"):
            hostile.run("pass", timeout=1.2)  # longer than a retired init may run
        assert stranger.wait(SECONDS) == -signal.SIGKILL
    assert not session.alive


@pytest.mark.parametrize("free", [0, 2, 3])
def test_a_checkpoint_for_which_the_host_has_no_descriptors_is_missed_and_costs_nothing(free: int):
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        assert box.run("x = 1").error is None
        with session._lock, no_descriptors(free):
            missed = [session.checkpoint() for _ in range(3)]
        assert missed == [False] * 3 and session.alive and session._copies
        assert session.checkpoint()
        assert box.run("print(x)").stdout == "1\n"


@contextmanager
def no_descriptors(free: int) -> Iterator[None]:
    """This process may open so many files more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1 + free, before[1]))
    with suppress(OSError):
        while True:
            opened.append(os.dup(0))
    for fd in opened[:free]:
        os.close(fd)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in opened[free:]:
            os.close(fd)


@pytest.mark.parametrize("who", ["worker", "strangers"])
def test_a_host_without_descriptors_says_so_and_blames_nobody(who: str, monkeypatch: pytest.MonkeyPatch):
    def none(*_: object) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        session._worker.weighed = True
        if who == "worker":
            monkeypatch.setattr(Worker, "_read", none)
            result = box.run("x = 1")
            assert isinstance(result.error, CellCrashed) and result.error.session_ended
            assert "the host could not look" in str(result.error)
        else:
            monkeypatch.setattr(pidfd, "descendants", none)
            assert not session.checkpoint() and "Too many open files" in session._ended


def test_a_session_does_not_start_where_its_host_has_no_descriptor_to_look_at_it(monkeypatch: pytest.MonkeyPatch):
    def none(*_: object) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(Group, "limit", lambda self, bounds: os.close(-1))  # a group that bounds nothing
    monkeypatch.setattr(Worker, "_read", none)
    with pytest.raises(EnvironmentUnavailable, match="could not look"):
        Sandbox(policy=strict()).run("1")


# -- whom a hostile session delays ------------------------------------------------------------------------


STALL = """
def stall(self, request):
    time.sleep(600)
replace(stall)
burn(0.02)  # a checkpoint is worth it
"""


def test_a_checkpoint_that_is_never_answered_ends_its_session_within_its_own_deadline(hostile: Unscreened):
    session = taught(hostile, STALL)
    started = time.monotonic()
    assert not session.checkpoint()
    assert time.monotonic() - started < SECONDS
    with pytest.raises(SessionEnded, match="no copy of itself in time"):
        hostile.run("x = 1")


def test_a_copy_that_answers_half_a_frame_ends_its_session_within_the_same_deadline(hostile: Unscreened):
    session = taught(
        hostile,
        """
        def half(self, request):
            fd = self._channel.take_fd()
            if os.fork():
                os.close(fd)
                return
            os.dup2(fd, 3)
            os.write(3, bytes([0, 0]))
            time.sleep(600)
        replace(half)
        """,
    )
    started = time.monotonic()
    assert not session.checkpoint()
    assert time.monotonic() - started < SECONDS
    assert not session.alive


def test_hostile_sessions_delay_nobody_s_checkpoint_but_their_own():
    with ExitStack() as stack:
        honest = stack.enter_context(Sandbox(policy=strict()))
        honest.run("x = 1")
        hostiles = [stack.enter_context(unscreened(policy=strict())) for _ in range(8)]
        for box in hostiles:
            assert box.run(HOSTILE).error is None
        threads = [threading.Thread(target=box.run, args=(STALL,)) for box in hostiles]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert honest.run("for i in range(5_000_000): x += i").error is None
        session = session_of(honest)
        started = time.monotonic()
        while session._spare is None and time.monotonic() - started < 60:
            time.sleep(0.01)
        # One after another, eight that never answer would take eight times their clock.
        assert session._spare is not None
        assert time.monotonic() - started < SECONDS


# -- what later sessions hold of earlier ones ---------------------------------------------------------------


def memory_of(pid: int) -> bytes:
    data = bytearray()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, permissions = line.split()[:2]
            if permissions[0] != "r" or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            try:
                memory.seek(start)
                data += memory.read(end - start)
            except OSError:
                continue
    return bytes(data)


@pytest.mark.root
@pytest.mark.parametrize("pool", [0, 2])
def test_a_session_holds_nothing_of_an_earlier_one(pool: int):
    names = [f"marker_{kind}_zq" for kind in ("tool", "variable", "context")]
    tool, variable, context = names
    policy = strict(pool=pool, stdout_bytes=1_357_913)
    for _ in range(3):  # the third could be one that was made ahead for the likes of the first
        with Sandbox(policy=policy, tools={tool: lambda: 1}, context={context: context * 3}) as box:
            assert box.run(f"{variable} = 1\n{tool}()").error is None
            own = memory_of(session_of(box)._worker.host_pid)
            assert all(name.encode() in own for name in names)  # they would be found
        time.sleep(0.1)
    with Sandbox(policy=strict(pool=pool)) as box:
        assert box.run("x = 1").error is None
        later = memory_of(session_of(box)._worker.host_pid)
        assert [name for name in names if name.encode() in later] == []
        assert b"1357913" not in later
