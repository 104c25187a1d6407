"""The next session's process is there before the request: sealed, nobody's, and replaceable."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import cgroup, pidfd, pool, zygote
from rlm_secure.environments.local.session import LocalSession, open_session
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import load_policy
from rlm_secure.testing import unscreened
from tests.emulators.base import until

COLD = load_policy("strict")
COLD = COLD.model_copy(update={"isolation": COLD.isolation.model_copy(update={"pool": 0})})


def want_cold_sessions() -> None:
    """Two in a row: after one, what waits may be for the sessions of an earlier test."""
    for _ in range(2):
        open_session(COLD).close()


def waiting() -> tuple[int, int]:
    """Pid and host's pid of the process that waits to become the next session."""
    source = zygote.zygote(zygote.Plan())
    deadline = time.monotonic() + 10
    while (process := source._preforked.prepare(source)) is None and time.monotonic() < deadline:
        time.sleep(0.01)  # the idle scheduler made one at the same time
    return process.pid, host_pid(process.pidfd)


def host_pid(pidfd: int) -> int:
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def read_status(pid: int) -> dict[str, str]:
    return dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())


def no_calls(_call: object) -> None:
    return None


def test_a_session_is_the_process_that_waited_and_the_next_is_another():
    want_cold_sessions()
    pid, _ = waiting()
    with open_session(COLD) as session:
        assert session._process.pid == pid
        assert waiting()[0] != pid


def test_what_is_kept_ready_is_told_from_what_a_session_has():
    def kept(*sessions: LocalSession) -> bool:
        """Whether it is all that the zygote has started, without what these sessions have."""
        below = {old._process.pid, *pidfd.descendants(old._process.pid)}
        return pool.pids() & below == below - {pidfd.pid_of(each._process.pidfd) for each in sessions}

    want_cold_sessions()
    old = zygote.zygote(zygote.Plan())
    with open_session(COLD) as first, open_session(load_policy("standard")) as second:
        assert until(lambda: pool.ready() and waiting() and kept(first, second))
        zygote._renew(old)
        assert until(lambda: kept(first, second))  # it lives as long as the workers that wait
    pool.drain()
    assert until(lambda: old._process.poll() is not None) and old._process.pid not in pool.pids()
    assert old.pids() == {old._process.pid}


def test_the_first_process_of_a_namespace_below_is_none_of_this_one():
    with open_session(COLD) as session:
        assert pidfd.is_init(pidfd.pid_of(session._process.pidfd))
    assert not any(map(pidfd.is_init, (os.getpid(), 1, 0)))


def test_one_that_was_killed_while_it_waited_is_replaced():
    want_cold_sessions()
    pid, outside = waiting()
    os.kill(outside, signal.SIGKILL)
    while Path(f"/proc/{outside}").exists() and read_status(outside)["State"][0] != "Z":
        time.sleep(0.01)
    for _ in range(3):
        with open_session(COLD) as session:
            assert session._process.pid != pid
            assert session.execute("print(1)", no_calls).stdout == "1\n"


def test_no_session_waits_for_the_zygote_that_comes_after_a_worn_one(monkeypatch: pytest.MonkeyPatch):
    want_cold_sessions()
    old = zygote.zygote(zygote.Plan())
    starting, may_start, boot = threading.Event(), threading.Event(), zygote.Zygote._boot

    def slow(fresh: zygote.Zygote) -> None:
        starting.set()
        assert may_start.wait(60)
        boot(fresh)

    monkeypatch.setattr(zygote.Zygote, "_boot", slow)
    monkeypatch.setattr(zygote, "_SESSIONS", old.sessions + 100)
    monkeypatch.setattr(zygote, "_NEARLY", (old.sessions + 0.5) / zygote._SESSIONS)  # safe from rounding
    with open_session(COLD) as session:
        assert starting.wait(60) and not old.worn
        with open_session(COLD) as meanwhile:
            assert meanwhile._process.zygote is old
        may_start.set()
        deadline = time.monotonic() + 60
        while zygote.zygote(zygote.Plan()) is old and time.monotonic() < deadline:
            time.sleep(0.01)
        monkeypatch.undo()
        with open_session(COLD) as after:
            assert after._process.zygote is not old and after._process.zygote.running
        assert session.execute("print(1)", no_calls).stdout == "1\n"
        assert not old.running


def test_a_zygote_that_is_replaced_while_it_is_asked_costs_no_session(monkeypatch: pytest.MonkeyPatch):
    asked: list[zygote.Zygote] = []

    def replaced(plan: zygote.Plan) -> zygote.Zygote:
        asked.append(zygote.zygote(plan))
        if len(asked) == 1:
            zygote._renew(asked[0])
        return asked[-1]

    monkeypatch.setattr(pool, "zygote", replaced)
    with open_session(COLD) as session:
        assert session.execute("print(1)", no_calls).stdout == "1\n"
    assert len(set(asked)) == 2


def test_a_report_that_is_interrupted_leaves_no_session(monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(zygote.Zygote, "while_idle", lambda _self: None)  # it would prepare a session, which counts as well
    zygote.zygote(zygote.Plan()).retire()  # one that prepares a session at this moment
    with open_session(COLD):
        zygote_ = zygote.zygote(zygote.Plan())
        live, descriptors = zygote_._live, len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(pool.report, "build", interrupted)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                open_session(COLD)
        assert (zygote_._live, len(os.listdir("/proc/self/fd"))) == (live, descriptors)


class Interrupted(threading.Thread):
    """A thread whose start is interrupted when it has begun."""

    def start(self) -> None:
        super().start()
        raise KeyboardInterrupt


class Unstarted(threading.Thread):
    """One whose start is interrupted before."""

    def start(self) -> None:
        pass


def test_a_pool_whose_thread_came_to_nothing_starts_another(monkeypatch: pytest.MonkeyPatch):
    made = pool._Pool()
    monkeypatch.setattr(pool, "threading", SimpleNamespace(Thread=Interrupted))  # the pool's alone
    with pytest.raises(KeyboardInterrupt):
        made.refill()
    assert made._thread is not None and made._thread.is_alive()  # it began all the same, and is known
    monkeypatch.setattr(pool, "threading", SimpleNamespace(Thread=Unstarted))
    made._thread = None
    made.refill()
    assert not made._thread.is_alive()
    monkeypatch.undo()
    made.refill()
    assert made._thread.is_alive()


def test_a_zygote_that_comes_too_late_is_ended():
    plan = zygote.Plan()
    current, late = zygote.zygote(plan), zygote.Zygote(plan)
    before = {child.pid for child in psutil.Process().children()}
    zygote._renew(late)  # which is not the one in use
    try:
        assert zygote.zygote(plan) is current
        assert {child.pid for child in psutil.Process().children()} <= before
    finally:
        late.close()


@pytest.mark.root
def test_it_is_sealed_before_anybody_wants_it():
    want_cold_sessions()
    _, outside = waiting()
    deadline = time.monotonic() + 10
    while (status := read_status(outside))["Seccomp"] != "2" and time.monotonic() < deadline:
        time.sleep(0.02)  # it was forked a moment ago
    assert status["Seccomp"] == "2"
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapInh"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    inner = psutil.Process(zygote.zygote(zygote.Plan())._process.pid).children()[0].pid
    for kind in ("user", "net", "ipc", "pid"):
        assert os.readlink(f"/proc/{outside}/ns/{kind}") != os.readlink(f"/proc/{inner}/ns/{kind}"), kind
    links = {os.readlink(path) for path in Path(f"/proc/{outside}/fd").iterdir()}
    assert len(links) == 1 and links.pop().startswith("socket:")


@pytest.mark.root
def test_it_joins_its_group_while_nobody_waits():
    if isinstance(reason := cgroup.parents(os.getpid()), str):
        pytest.skip(reason)  # a machine without cgroups; in CI that is a failure (tests/conftest.py)
    want_cold_sessions()
    source = zygote.zygote(zygote.Plan())
    deadline = time.monotonic() + 20
    while source._preforked._waiting is None and time.monotonic() < deadline:
        time.sleep(0.02)
    joined = source._preforked._waiting[1].group
    assert joined is not None
    with open_session(COLD) as session:
        process = session._process
        assert process is not None and process.group is joined
        assert f"{COLD.limits.memory_bytes * 2 + cgroup.OVERHEAD:,} bytes" in joined.evidence
    assert joined in cgroup._empty or not any(path.exists() for path in joined._paths)


@pytest.mark.root
@pytest.mark.parametrize("waits", [True, False])
def test_its_limits_are_the_policy_s_whether_it_waited_or_not(waits: bool):
    want_cold_sessions()
    pid, _ = waiting()
    wanted = COLD
    if not waits:
        wanted = COLD.model_copy(update={"limits": COLD.limits.model_copy(update={"open_files": 11})})
    with open_session(wanted) as session:
        assert (session._process.pid == pid) is waits
        lines = Path(f"/proc/{host_pid(session._process.pidfd)}/limits").read_text().splitlines()
        limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
        assert limits["Max data size"] == [str(COLD.limits.memory_bytes)] * 2
        assert limits["Max open files"] == [str(wanted.limits.open_files)] * 2
        assert limits["Max file size"] == limits["Max core file size"] == ["0", "0"]
        cpu = int(COLD.limits.session_cpu_seconds) + 1  # the host is first, as it can name the limit
        assert limits["Max cpu time"] == [str(cpu), str(cpu + 1)]
        level, evidence = session.report[Wall.RLIMITS].level, session.report[Wall.RLIMITS].evidence
        assert level is Level.FULL and f"DATA {COLD.limits.memory_bytes}" in evidence


def test_what_is_wanted_once_does_not_cost_what_is_wanted_often():
    want_cold_sessions()
    pid, _ = waiting()
    other = {"another_tool": ""}
    with open_session(COLD, tools=other) as session:
        assert session._process.pid != pid
        assert session.execute("print(another_tool)", no_calls).stdout
    assert waiting()[0] == pid
    open_session(COLD, tools=other).close()  # the second time in a row: the next one is made for it
    pid, _ = waiting()
    with open_session(COLD, tools=other) as session:
        assert session._process.pid == pid
        assert session.execute("print(another_tool)", no_calls).stdout
        assert "NameError" in session.execute("print(a_tool)", no_calls).stderr


def test_garbage_is_collected_in_sessions_although_not_in_the_boot():
    with unscreened() as session:
        code = "import gc, weakref\nclass A: pass\na = A(); a.a = a; w = weakref.ref(a); del a\nx = [[] for _ in range(9999)]"
        assert session.run(f"{code}\nprint(gc.isenabled(), w())").stdout == "True None\n"


def test_a_local_session_never_loads_the_supervisor():
    with unscreened() as session:  # forked from the zygote: it has the zygote's modules
        loaded = session.run("import sys\nprint(*sorted(sys.modules))").stdout.split()
    assert "guest.zygote.zygote" in loaded and "guest.session.worker" in loaded
    assert [name for name in loaded if name.startswith("guest.supervisor")] == []


def test_the_warm_up_leaves_no_names():
    with Sandbox() as box:
        assert box.run("print(SHOW_VARS())").stdout.startswith("No variables")
        assert "NameError" in box.run("A").stderr
