"""What a session does for no caller: a checkpoint while it is idle, to be resumed. Who waits for it has own bounds."""

from __future__ import annotations

import os
import signal
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rlm_secure import CellCrashed, CellTimeout, Sandbox, SessionEnded
from rlm_secure.environments import replay
from rlm_secure.environments.deadline import Deadline
from rlm_secure.environments.local import cgroup, pidfd
from rlm_secure.environments.local import session as local
from rlm_secure.environments.local.cputime import CpuAccount
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.environments.local.worker import Worker
from rlm_secure.environments.local.zygote import Zygote
from rlm_secure.environments.turn import Turn
from rlm_secure.testing import Unscreened, unscreened
from tests.local.conftest import HOSTILE, strict
from tests.local.test_checkpoints import SECONDS, session_of, taught, without_group

#: How long what is slow takes here; who must not wait for it is given less than half of that.
SLOW = 6.0
#: A checkpoint that takes so long, and is worth being taken while idle.
SLOWLY = f"""
Honest = Worker._checkpoint
def slowly(self, request):
    time.sleep({SLOW})
    return Honest(self, request)
replace(slowly)
x = 1
burn(0.02)
"""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_CHECKPOINT_SECONDS", 60.0)
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 60.0)


@pytest.fixture
def busy(patient: None) -> Iterator[Unscreened]:
    """A session whose idle scheduler is taking a slow checkpoint."""
    with unscreened(policy=strict()) as box:
        begun(box)
        yield box


def begun(box: Unscreened) -> None:
    session = taught(box, HOSTILE + SLOWLY)
    deadline = time.monotonic() + SECONDS
    while not session._lock.taken and time.monotonic() < deadline:
        time.sleep(0.005)
    assert session._lock.taken


def test_waiting_for_a_checkpoint_is_time_of_the_caller(busy: Unscreened):
    began = time.monotonic()
    result = busy.run("x += 1", timeout=0.2)
    assert time.monotonic() - began < SLOW / 2
    assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.cell_seconds"
    assert result.execution_time >= 0.2 and not result.error.session_ended
    assert "did not begin" in result.stderr
    result = busy.run("print(x)")
    assert (result.stdout, result.error) == ("1\n", None)
    assert result.execution_time > 1.0  # most of it was spent in waiting


def test_an_interrupt_while_a_checkpoint_is_taken_is_not_lost(busy: Unscreened):
    began = time.monotonic()
    threading.Timer(0.3, session_of(busy).interrupt).start()
    result = busy.run("x += 1")
    assert time.monotonic() - began < SLOW / 2
    assert isinstance(result.error, CellTimeout) and result.error.limit == "interrupt"
    assert busy.run("print(x)").stdout == "1\n"


def test_a_run_s_seconds_bound_waiting_for_a_checkpoint(patient: None):
    with unscreened(policy=strict(run_seconds=0.5)) as box:
        begun(box)
        began = time.monotonic()
        result = box.run("x += 1")
        assert result.error is not None and result.error.limit == "limits.run_seconds"
        with pytest.raises(CellTimeout, match="limits.run_seconds"):
            session_of(box).read_text("x")
        threading.Timer(0.1, session_of(box).interrupt).start()
        with pytest.raises(CellTimeout, match="before its turn came"):
            session_of(box).assign("y", 1)
        assert time.monotonic() - began < SLOW / 2


def test_closing_does_not_wait_for_a_checkpoint(busy: Unscreened):
    began = time.monotonic()
    busy.close()
    assert time.monotonic() - began < SLOW / 2


def test_slow_checkpoints_count_as_missed_although_they_came(hostile: Unscreened, monkeypatch: pytest.MonkeyPatch):
    session = taught(hostile, SLOWLY.replace(str(SLOW), "0.3"))
    monkeypatch.setattr(local, "_SLOW_SECONDS", 0.1)
    session._copy_seconds = 0.1
    assert session.checkpoint() and session._copies
    assert session.checkpoint() and not session._copies
    assert hostile.run("x = 2").error is None
    assert "was resumed" in hostile.run("os._exit(0)").stderr
    assert hostile.run("print(x)").stdout == "2\n"
    # It went on from its last spare: nothing leads back to that state another time.
    assert hostile.run("os._exit(0)").error.session_ended


def test_an_interrupt_ends_the_cell_that_runs_and_not_who_waits_for_it():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        results: dict[str, Any] = {}
        first = threading.Thread(target=lambda: results.update(first=box.run("while True: pass")))
        first.start()
        time.sleep(0.3)
        second = threading.Thread(target=lambda: results.update(second=box.run("print(x)")))
        second.start()
        time.sleep(0.3)
        box.interrupt()
        first.join(SECONDS)
        second.join(SECONDS)
        assert results["first"].error.limit == "interrupt"
        assert (results["second"].stdout, results["second"].error) == ("1\n", None)


def test_waiting_for_another_cell_is_time_of_the_caller():
    with Sandbox(policy=strict()) as box:
        first = threading.Thread(target=lambda: box.run("while True: pass"))
        first.start()
        time.sleep(0.3)
        assert "did not begin" in box.run("1", timeout=0.2).stderr
        box.interrupt()
        first.join(SECONDS)
        assert box.run("print(1)", timeout=5).stdout == "1\n"


def test_an_init_that_does_not_let_go_delays_no_request(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "_RETIRE_SECONDS", 60.0)
    monkeypatch.setattr(local, "_RETIRED_BYTES", 1)
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        without_group(session)
        monkeypatch.setattr(local.idle, "watch", lambda kept: None)
        assert session.checkpoint() and session._spare is session._root
        session._log_seconds = 1.0
        began = time.monotonic()
        assert box.run("x = 1", timeout=2.0).error is None
        assert session._spare is session._root  # its checkpoint is for when it is idle
        deadline = Deadline(30.0)
        deadline.bound(0.2, lambda: CellTimeout("over"))
        assert not session._slim(deadline)
        session._worker.interrupted.set()
        assert not session._slim(Deadline(30.0))
        assert time.monotonic() - began < 20


# -- to be resumed ----------------------------------------------------------------------------------------


def aged(box: Unscreened, seconds: float) -> LocalSession:
    """A session without a spare, whose log takes so long when it is run again."""
    session = session_of(box)
    session._copies = False
    until = time.time() + 0.1
    slow = f"""
        import os, time
        x = 1
        if time.time() > {until}: time.sleep({seconds})
        """
    assert box.run(textwrap.dedent(slow)).error is None
    time.sleep(max(until - time.time(), 0))
    return session


def test_what_is_run_again_has_no_more_time_than_its_caller(patient: None):
    with unscreened(policy=strict()) as box:
        aged(box, SLOW)
        began = time.monotonic()
        result = box.run("os._exit(0)", timeout=0.2)
        assert isinstance(result.error, CellCrashed) and not result.error.session_ended
        assert "is being resumed" in result.stderr
        waiting = box.run("print(x)", timeout=0.2)
        assert isinstance(waiting.error, CellTimeout) and "did not begin" in waiting.stderr
        assert time.monotonic() - began < SLOW / 2
        assert box.run("print(x)").stdout == "1\n"


def test_a_run_s_seconds_bound_what_is_run_again(patient: None):
    with unscreened(policy=strict(run_seconds=1.0)) as box:
        aged(box, SLOW)
        began = time.monotonic()
        assert "is being resumed" in box.run("os._exit(0)").stderr
        assert time.monotonic() - began < SLOW / 2


def test_an_interrupt_ends_waiting_and_not_what_is_run_again(patient: None):
    with unscreened(policy=strict()) as box:
        session = aged(box, SLOW)
        began = time.monotonic()
        threading.Timer(0.5, session.interrupt).start()
        assert "is being resumed" in box.run("os._exit(0)").stderr
        assert time.monotonic() - began < SLOW / 2
        assert box.run("print(x)").stdout == "1\n"


def test_ctrl_c_ends_waiting_and_not_what_is_run_again(patient: None):
    with unscreened(policy=strict()) as box:
        aged(box, SLOW)
        began = time.monotonic()
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            box.run("os._exit(0)")
        assert time.monotonic() - began < SLOW / 2
        assert box.run("print(x)").stdout == "1\n"


def test_closing_does_not_wait_for_what_is_run_again(patient: None):
    with unscreened(policy=strict()) as box:
        aged(box, SLOW)
        assert "is being resumed" in box.run("os._exit(0)", timeout=0.2).stderr
        began = time.monotonic()
        box.close()
        assert time.monotonic() - began < SLOW / 2


def test_what_is_run_again_in_vain_ends_the_session_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 1.5)
    with unscreened(policy=strict()) as box:
        aged(box, 60.0)
        result = box.run("os._exit(0)", timeout=0.2)
        assert result.error is not None and not result.error.session_ended
        with pytest.raises(SessionEnded, match="were not done in 1.5"):
            box.run("print(x)")


@pytest.mark.parametrize("said", [0.0, 1e15])
def test_what_a_worker_says_that_it_used_bounds_nothing_of_what_is_run_again(said: float):
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        session._copies = False
        says = f"""
        Honest = Worker._exec
        Worker._exec = lambda self, request: {{**Honest(self, request), "cpu": {said}}}
        burn(0.1)
        """
        taught(box, HOSTILE + textwrap.dedent(says))
        assert box.run("burn(0.1)").cpu_seconds == pytest.approx(0.1, abs=0.09)
        for _ in range(2):  # measured where it ran, and where it was run again
            assert session._log is not None and len(session._log) == 2 and 0.2 <= session._log_seconds < 2.0
            assert "was resumed" in box.run("os._exit(0)").stderr


def test_what_is_run_again_has_an_end_however_long_its_log_took(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 0.5)
    monkeypatch.setattr(replay, "REPLAY_SECONDS", 0.5)
    with unscreened(policy=strict(cell_seconds=60.0)) as box:
        aged(box, 60.0)._log_seconds = 1e15
        began = time.monotonic()
        result = box.run("os._exit(0)")
        assert result.error.session_ended and "were not done in 1.5" in result.stderr
        assert time.monotonic() - began < SECONDS


def test_a_worker_that_ended_after_its_result_used_the_time_that_passed():
    with unscreened(policy=strict()) as box:
        session = session_of(box)
        session._copies = False
        assert box.run(HOSTILE + "while not time.sleep(0.3): conclude(), os._exit(0)").cpu_seconds < 2.0
        worker = session._worker
        worker.kill()
        before = worker.cpu_at_most()
        time.sleep(0.1)
        assert worker.cpu_seconds() is None and worker.cpu_at_most() - before >= 0.1


@pytest.mark.parametrize("way_out", ["os._exit(0)", "sum(range(10**12))", "x = 'x' * 10**8"])
@pytest.mark.parametrize("resumes", [0, 3])
def test_a_cell_that_ended_with_its_worker_says_what_it_used(way_out: str, resumes: int):
    burn = "import os, time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n"
    with unscreened(policy=strict(resumes=resumes)) as box:
        session = session_of(box)
        assert box.run("1").error is None
        if way_out.startswith("x"):  # looked at, and over what it may hold
            session._copies, session._worker.weighed = False, True
            session._worker._limits = session._worker._limits.model_copy(update={"memory_bytes": 8 << 20})
        result = box.run(burn + way_out, timeout=3.0)
        assert result.error is not None and result.error.session_ended == (resumes == 0 or way_out.startswith("x"))
        assert 0.1 <= result.cpu_seconds < SECONDS


def test_a_spare_that_takes_over_is_copied_at_nobody_s_cost(patient: None):
    later = f"""
copies = 0
Honest = Worker._checkpoint
def later(self, request):
    global copies
    copies += 1
    if copies > 1: time.sleep({SLOW})
    return Honest(self, request)
replace(later)
x = 1
"""
    with unscreened(policy=strict()) as box:
        session = taught(box, HOSTILE + later)
        assert session.checkpoint()
        began = time.monotonic()
        assert "is being resumed" in box.run("os._exit(0)", timeout=0.2).stderr
        threading.Timer(0.3, session.interrupt).start()
        waiting = box.run("x = 2")
        assert waiting.error is not None and waiting.error.limit == "interrupt"
        assert time.monotonic() - began < SLOW / 2
        assert box.run("print(x)").stdout == "1\n"


def test_where_there_is_no_thread_a_session_is_resumed_by_its_caller(monkeypatch: pytest.MonkeyPatch):
    with unscreened(policy=strict()) as box:
        aged(box, 0.0)

        def none(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", none)
        assert "was resumed" in box.run("os._exit(0)").stderr
        assert box.run("print(x)").stdout == "1\n"


def test_what_was_refused_is_told_of_its_cell_alone(patient: None):
    with unscreened(policy=strict(tool_calls=0)) as box:
        session = aged(box, SLOW)

        def nothing(call: Any) -> None:
            return None

        ask = HOSTILE + "call = {'op': 'call', 'call': 'tool', 'tool': 't', 'args': [], 'kwargs': {}, 'nonce': channel.nonce}\ncall = json.dumps(call).encode()\n"
        ask += "os.write(3, len(call).to_bytes(4, 'big') + call)\nchannel.receive()"
        assert session.execute(ask, nothing).error is None
        assert [decision.rule for decision in session.refused] == ["tool-calls"]
        assert session.execute("x" * 1_000_000, nothing).error is not None and session.refused == ()
        session.execute(ask + "\nos._exit(0)", nothing, seconds=0.2)
        assert "did not begin" in session.execute("1", nothing, seconds=0.2).stderr
        assert session.refused == ()


# -- the turn ---------------------------------------------------------------------------------------------


def test_a_turn_that_is_taken_by_work_for_no_caller_is_not_free():
    turn = Turn()
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        with turn:  # as often as it likes
            go.wait(SECONDS)
        done.set()

    assert turn.acquire()
    assert not turn.pass_on(work, lambda: True)
    assert turn.taken
    turn.release()
    assert not turn.acquire(blocking=False)
    with turn.in_background() as free:
        assert not free
    looks: list[bool] = []
    assert not turn.acquire(give_up=lambda ahead: looks.append(ahead) or len(looks) == 2)
    assert looks == [True, True]
    threading.Timer(0.1, go.set).start()
    with turn:
        assert done.is_set() and not turn.taken
    with turn.in_background() as free:
        assert free and not turn.taken and turn.acquire(blocking=False)


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_while_work_is_passed_on_leaves_it_undone_or_goes_on(begun: bool, monkeypatch: pytest.MonkeyPatch):
    turn, done = Turn(), threading.Event()
    go, began = threading.Event(), threading.Event()
    start = threading.Thread.start
    threads: list[threading.Thread] = []

    def interrupted(thread: threading.Thread) -> None:
        threads.append(thread)
        if begun:
            start(thread)
            assert began.wait(SECONDS)
        raise KeyboardInterrupt

    def work() -> None:
        began.set()
        go.wait(SECONDS)
        done.set()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    assert turn.acquire()
    with pytest.raises(KeyboardInterrupt):
        turn.pass_on(work, lambda: True)
    monkeypatch.undo()
    assert turn.taken == begun
    turn.release()
    go.set()
    if not begun:
        start(threads[0])  # it was on its way when its maker was interrupted
    threads[0].join(SECONDS)
    assert done.is_set() == begun
    with turn:
        assert not turn.taken


def groups_kept_or_removed(monkeypatch: pytest.MonkeyPatch) -> list[cgroup.Group]:
    """Every group that is kept for another session or removed from now on: a warm worker may soon take a kept one."""
    gone: list[cgroup.Group] = []
    remove = cgroup.Group.remove

    class Kept(list[cgroup.Group]):
        def append(self, group: cgroup.Group) -> None:
            gone.append(group)
            super().append(group)

    def removed(group: cgroup.Group) -> bool:
        if done := remove(group):
            gone.append(group)
        return done

    # A new list: a copy would leave groups in the old one that have other sessions by the time it is put back.
    monkeypatch.setattr(cgroup, "_empty", Kept())
    monkeypatch.setattr(cgroup.Group, "remove", removed)
    return gone


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (SessionProcess, "kill", 1), (SessionProcess, "kill", 2), (SessionProcess, "kill", 3), (Worker, "kill", 1), (CpuAccount, "close", 1),
        (pidfd, "ended", 1), (pidfd, "ended", 3), (Zygote, "released", 1),
    ],
)  # fmt: skip
def test_ctrl_c_while_a_session_ends_leaves_nothing(owner: Any, name: str, call: int, monkeypatch: pytest.MonkeyPatch):
    """In the session (before it has its lock, and with it), and in its first process: SessionProcess.end() comes third."""
    box = unscreened(policy=strict())
    session = session_of(box)
    assert session.checkpoint()
    listener, workers, process = session._listener, [session._worker, session._root], session._process
    assert listener is not None and process is not None
    handle, close = os.pidfd_open(session._root.host_pid or 0), os.close
    closed: list[int] = []
    monkeypatch.setattr(os, "close", lambda number: (closed.append(number), close(number)))
    gone = groups_kept_or_removed(monkeypatch)
    try:
        with monkeypatch.context() as patched:
            inner, calls = getattr(owner, name), 0

            def interrupted(*values: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls < call:
                    return inner(*values, **options)
                patched.undo()
                raise KeyboardInterrupt

            patched.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                box.close()
        assert pidfd.ended(handle, SECONDS)
    finally:
        os.close(handle)
    assert listener.fileno() == -1 and {worker.pidfd for worker in workers} == {-1}
    assert {worker._socket.fileno() for worker in workers} == {-1}
    assert process.connection.fileno() == -1 and process.pidfd in closed
    assert process.group is None or process.group in gone
    box.close()
