"""Copies of a session and snapshots: each goes on by itself, ends by itself, and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlm_secure import (
    AsyncSandbox,
    CellMemoryLimit,
    CellTimeout,
    EnvironmentUnavailable,
    ReentrantCall,
    Refused,
    Sandbox,
    SessionEnded,
    WallViolation,
    WrongProcess,
)
from rlm_secure.environments.interface import NO_COPIES, Session
from rlm_secure.environments.local import cgroup, pidfd
from rlm_secure.environments.local import session as local
from rlm_secure.environments.local.cgroup import CgroupBounds, Group, Parents
from rlm_secure.environments.local.process_tree import ProcessTree
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.environments.local.worker import Worker
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.testing import Unscreened
from tests.emulators.base import until
from tests.environments.test_forks import forked, outcome
from tests.local.conftest import Boundless, strict
from tests.local.test_checkpoints import SECONDS, no_descriptors, population, session_of, state, without_group

BUDGET = "limits.session_cpu_seconds"
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")


def tree_of(box: Sandbox | LocalSession) -> ProcessTree:
    tree = (session_of(box) if isinstance(box, Sandbox) else box)._tree
    assert tree is not None
    return tree


def refuse(call: object) -> Any:
    raise AssertionError(call)


def ran(session: LocalSession, code: str) -> str:
    result = session.execute(code, refuse)
    assert result.error is None, result
    return result.stdout


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """Neither a process nor a cgroup nor a descriptor is left by the test."""
    with Sandbox(policy=strict()) as box:  # the zygote, and the pipes of what is done while idle
        box.run("1")
        other = box.fork()
        other.close()
    gc.collect()
    assert until(lambda: zygote(Plan())._preforked.processes())  # else it is prepared amid the test, and counts as left
    before = None
    while before != (now := (descriptors(), sessions())):  # what is made ready or closed while idle comes to its end first
        before = now
        time.sleep(0.3)
    groups = set(cgroup._live)
    yield
    gc.collect()
    until(lambda: (descriptors(), sessions()) == before, SECONDS)
    assert (descriptors(), sessions()) == before
    assert cgroup._live <= groups | set(cgroup._empty) | {group for group in cgroup._live if members(group)}


def descriptors() -> list[str]:
    """What is open here, without what the zygote has ready for the next session."""
    found = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return sorted(str(link.readlink()).partition(":")[0] for link in found if link.is_symlink())


def sessions() -> int:
    """How many processes of sessions live."""
    return len(pidfd.descendants(os.getpid()))


def members(group: Group) -> set[str]:
    lists = [path / "cgroup.procs" for path in group._paths]
    return {pid for each in lists if each.exists() for pid in each.read_text().split()}


# -- each by itself -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_left")
def test_64_copies_go_on_by_themselves_and_one_more_is_refused():
    with Sandbox(policy=strict(), context="c" * 1_000_000) as box:
        box.run("x = ['the original']").check()
        copies = [box.fork() for _ in range(64)]
        with pytest.raises(Refused, match=r"limits\.forks = 64"):
            box.fork()
        with pytest.raises(Refused, match=r"limits\.forks = 64"):
            copies[0].fork()
        with pytest.raises(Refused, match=r"limits\.forks = 64"):
            copies[0].snapshot()
        for number, each in enumerate(copies):
            each.run(f"x.append({number})\nx.append(len(context))\nmine_{number} = 1").check()
        for number, each in enumerate(copies):
            assert each.get("x") == ["the original", number, 1_000_000]
            assert [name for name in each.run("").locals if name.startswith("mine_")] == [f"mine_{number}"]
        assert box.get("x") == ["the original"]
        copies.pop().close()
        copies.append(box.fork())
        assert copies[-1].get("x") == ["the original"]
        for each in copies:
            each.close()
        box.fork().close()


@pytest.mark.usefixtures("nothing_left")
def test_copies_outlive_the_original_and_are_copied_in_turn():
    box = Sandbox(policy=strict())
    box.run("x = [1]").check()
    one = box.fork()
    one.run("x.append(2)").check()
    two = one.fork()
    two.run("x.append(3)").check()
    box.close()
    assert (one.get("x"), two.get("x")) == ([1, 2], [1, 2, 3])
    one.close()
    with two.fork() as three:
        two.close()
        assert three.get("x") == [1, 2, 3]
        for _ in range(3):
            assert session_of(three).checkpoint()
        assert three.get("x") == [1, 2, 3]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("way_out", ["sum(range(10**11))", "while True: pass"])
@pytest.mark.parametrize("who", [0, 1])
def test_who_is_stopped_falls_back_and_the_others_do_not_notice(way_out: str, who: int):
    with Sandbox(policy=strict(cell_seconds=0.3, cell_cpu_seconds=0.3)) as box:
        box.run("x = [1]").check()
        with box.fork() as copy, box.fork() as other:
            boxes = (box, copy)
            boxes[who].run("x.append(2)").check()
            result = boxes[who].run(way_out)
            assert isinstance(result.error, CellTimeout) and not result.error.session_ended
            assert boxes[who].get("x") == [1, 2]
            assert boxes[1 - who].get("x") == other.get("x") == [1]


@pytest.mark.usefixtures("nothing_left")
def test_a_copy_that_is_killed_twice_comes_back_from_what_all_share():
    with Sandbox(policy=strict()) as box:
        box.run("x = [1]").check()
        with box.fork() as copy:
            spare = session_of(copy)._spare
            assert spare is session_of(box)._spare
            for number in (2, 3):
                copy.run(f"x.append({number})").check()
                with session_of(copy)._lock:
                    session_of(copy)._worker.kill()
                assert copy.get("x") == list(range(1, number + 1))
            with box.fork() as third:
                assert third.get("x") == [1]
        assert tree_of(box).holders(spare or tree_of(box).root) <= 1


def test_a_worker_that_was_killed_comes_back_where_another_keeps_its_channel_open():
    """As the worker that it is a copy of may, for a moment: what is sent there arrives, and nobody reads it."""
    with Sandbox(policy=strict()) as box:
        box.run("x = [1]").check()
        with box.fork() as copy, session_of(copy)._lock:
            worker = session_of(copy)._worker
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.setblocking(False)
                os.dup2(ours.fileno(), worker._socket.fileno())
                worker.kill()
                assert copy.get("x") == [1]


def test_a_copy_whose_origin_is_gone_ends_when_it_is_killed():
    with Sandbox(policy=strict()) as box:
        box.run("x = [1]").check()
        with box.fork() as copy:
            spare = session_of(copy)._spare
            assert spare is not None
            spare.kill()
            with session_of(copy)._lock:
                session_of(copy)._worker.kill()
            result = copy.run("x")
            assert result.error is not None and result.error.session_ended
            assert box.get("x") == [1]


@pytest.mark.usefixtures("nothing_left")
def test_memory_ends_nobody_else():
    with Sandbox(policy=strict(memory_bytes=64 << 20)) as box:
        box.run("x = 1").check()
        with box.fork() as copy, box.fork() as other:
            assert copy.run("y = 'y' * (256 << 20)").error is not None
            with session_of(copy)._lock:  # as the kernel would, where it comes first
                session_of(copy)._worker.kill()
            assert (box.get("x"), copy.get("x"), other.get("x")) == (1, 1, 1)


def test_a_copy_begins_with_what_the_original_has_used():
    with Sandbox(policy=strict(session_cpu_seconds=2.0, cells=4), tools={"tool": lambda: 1}) as box:
        session_of(box)._cpu.lost(1.2)
        box.run("tool()").check()
        with box.fork() as copy:
            made = session_of(copy)
            assert 1.2 <= made._cpu.used() < 1.9
            assert (made._cells, made._tool_calls) == (1, 1)
            error = copy.run("while True: pass").error
            assert error is not None and (error.limit, error.session_ended) == (BUDGET, True)
            assert box.run("1").error is None
            for _ in range(2):
                box.run("1")
            with pytest.raises(SessionEnded, match=r"limits\.cells"):
                box.run("1")


def test_random_numbers_are_the_same_in_each_copy():
    with Sandbox(policy="standard") as box:
        box.run("import random").check()
        with box.fork() as copy:
            same = [each.run("random.random()").value for each in (box, copy)]
            assert same[0] == same[1]
    with Sandbox(policy="standard") as box, box.fork() as copy:  # not seeded before its first cell
        same = [each.run("import random\nrandom.random()").value for each in (box, copy)]
        assert same[0] == same[1]


# -- who may copy, and when ---------------------------------------------------------------------------


def test_it_waits_for_the_cell_that_runs():
    going = threading.Event()

    def tool() -> int:
        going.set()
        time.sleep(0.3)
        return 1

    with Sandbox(policy=strict(), tools={"tool": tool}) as box:
        running = threading.Thread(target=box.run, args=("x = tool()",))
        running.start()
        assert going.wait(SECONDS)
        with box.fork() as copy:
            assert copy.get("x") == 1
        running.join()


def test_a_tool_copies_no_sandbox_that_waits_for_it():
    seen: list[str] = []
    with Sandbox(policy=strict(), tools={"tool": lambda: seen.append(outcome(box.fork)) or 1}) as box:
        box.run("tool()").check()
        with box.fork() as copy:
            copy.run("tool()").check()  # the copy waits, not the original
    assert seen[0] == ReentrantCall.__name__ and seen[1].startswith("returned")


@pytest.mark.usefixtures("nothing_left")
def test_many_threads_copy_at_once():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        made: list[Sandbox] = []

        def copies() -> None:
            for _ in range(4):
                one = box.fork()
                made.extend((one, one.fork()))

        threads = [threading.Thread(target=copies) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 32
        for number, each in enumerate(made):
            each.run(f"x += {number}").check()
        assert [each.get("x") for each in made] == [1 + number for number in range(32)]
        ends = [threading.Thread(target=each.close) for each in made]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join()
        assert box.get("x") == 1


def test_threads_read_the_processor_time_and_memory_of_one_worker_at_once():
    """As those of copies do, of the worker that they all come from, where no cgroup counts for them."""
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        worker = session_of(box)._worker
        worker.weighed = True
        go, errors = threading.Barrier(8), []

        def reads() -> None:
            go.wait()
            try:
                for _ in range(2_000):
                    assert worker.cpu_seconds() is not None
                    worker.weigh()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=reads) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        links = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
        assert sum(link.startswith(f"/proc/{worker.host_pid}/") for link in links) == len(worker._files)


def test_a_fork_of_the_host_uses_neither():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        with box.fork() as copy, box.snapshot() as kept:
            said = forked(lambda: [outcome(copy.fork), outcome(box.snapshot), outcome(kept.close), dropped(copy, kept)])
            assert said == [WrongProcess.__name__] * 3 + ["dropped"]
            assert copy.get("x") == box.get("x") == 1
            box.restore(kept)
            assert box.get("x") == 1


def dropped(copy: Sandbox, kept: Any) -> str:
    """What the garbage collector does to them in a fork of the host."""
    session_of(copy).__del__()
    kept.__del__()
    return "dropped"


def test_other_sessions_cannot_be_copied(monkeypatch: pytest.MonkeyPatch):
    with Sandbox(policy=strict()) as box:
        for use in (Session.fork, Session.snapshot, lambda session: Session.restore(session, session.snapshot())):
            with pytest.raises(EnvironmentUnavailable, match="cannot copy a session"):
                use(session_of(box))
    assert NO_COPIES
    policy = strict()
    policy = policy.model_copy(update={"isolation": policy.isolation.model_copy(update={"checkpoints": False})})
    with Sandbox(policy=policy) as box, pytest.raises(EnvironmentUnavailable, match=r"isolation\.checkpoints"):
        box.fork()


def test_an_ended_sandbox_is_not_copied():
    box = Sandbox(policy=strict())
    copy = box.fork()
    for each in (copy, box):
        each.close()
        for use in (each.fork, each.snapshot):
            with pytest.raises(SessionEnded):
                use()


def test_a_session_that_is_closed_while_it_is_copied_has_no_copy():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        tree = tree_of(box)
        tree.kill_for(session_of(box)._worker)
        with pytest.raises(SessionEnded, match="while it was copied"):
            tree.join(None)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("who", [0, 1])
def test_who_is_closed_while_its_cell_runs_ends_at_once_and_alone(who: int):
    with Sandbox(policy=strict()) as box, box.fork() as copy:
        boxes = (box, copy)
        raised: list[str] = []
        running = threading.Thread(target=lambda: raised.append(str(boxes[who].run("sum(range(10**11))").error)))
        running.start()
        time.sleep(0.3)
        began = time.monotonic()
        boxes[who].close()
        running.join()
        assert time.monotonic() - began < 10.0  # the cell has hours to go, and its session 30 s
        assert raised and boxes[1 - who].run("1").value == 1


@pytest.mark.usefixtures("nothing_left")
def test_what_is_dropped_ends():
    with Sandbox(policy=strict()) as box:
        copy, kept = box.fork(), box.snapshot()
        assert tree_of(box)._users == 3
        del copy, kept
        gc.collect()
        assert tree_of(box)._users == 1


# -- snapshots ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_left")
def test_a_sandbox_goes_on_from_its_snapshot_as_often_as_it_likes():
    with Sandbox(policy=strict()) as box:
        box.run("x = [1]").check()
        with box.snapshot() as kept:
            for _ in range(3):
                box.run("x.append(2)").check()
                assert session_of(box).checkpoint()
                box.restore(kept)
                assert box.get("x") == [1]
            with box.fork() as copy:
                copy.run("x.append(3)").check()
                copy.restore(kept)
                assert copy.get("x") == [1]
            assert state(kept.worker) == "T"  # type: ignore[attr-defined]
        kept.close()
        with pytest.raises(ValueError, match="closed"):
            box.restore(kept)
        assert box.get("x") == [1]
        with session_of(box)._lock:
            session_of(box)._worker.kill()
        assert box.get("x") == [1]


@pytest.mark.usefixtures("nothing_left")
def test_a_snapshot_outlives_its_sandbox_and_serves_its_like():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        kept = box.snapshot()
        box.reset()
        box.run("y = 2").check()
        box.restore(kept)
        assert box.get("x") == 1
        with pytest.raises(KeyError):
            box.get("y")
        used = session_of(box)._cpu.used()
        box.restore(kept)
        assert session_of(box)._cpu.used() >= used
        kept.close()
        assert box.get("x") == 1


def test_a_snapshot_is_not_for_another_policy_or_other_tools():
    with Sandbox(policy=strict()) as box, box.snapshot() as kept:
        for other in (Sandbox(policy=strict(cells=5)), Sandbox(policy=strict(), tools={"tool": lambda: 1})):
            with other, pytest.raises(ValueError, match="the policy and the tools"):
                other.restore(kept)
        with pytest.raises(ValueError, match="the policy and the tools"):
            box.restore(None)  # type: ignore[arg-type]


def test_a_snapshot_whose_process_is_gone_changes_nothing():
    with Sandbox(policy=strict()) as box:
        box.run("x = 1").check()
        with box.snapshot() as kept:
            box.run("x = 2").check()
            assert session_of(box).checkpoint()
            kept.worker.kill()  # type: ignore[attr-defined]
            used = session_of(box)._cpu.used()
            with pytest.raises(EnvironmentUnavailable):
                box.restore(kept)
            assert box.get("x") == 2 and session_of(box).alive
            assert used <= session_of(box)._cpu.used() < used + 3.0


@pytest.mark.usefixtures("nothing_left")
def test_a_snapshot_is_closed_once():
    with Sandbox(policy=strict()) as box:
        for _ in range(5):
            kept = box.snapshot()
            threads = [threading.Thread(target=kept.close) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert tree_of(box)._users == 1


def test_what_makes_no_copies_any_more_is_not_copied():
    with Sandbox(policy=strict()) as box:
        box.fork().close()
        session_of(box)._copies = False
        with pytest.raises(EnvironmentUnavailable, match="cannot be copied"):
            box.fork()
        assert box.run("1").value == 1


def test_without_copies_there_is_no_snapshot():
    with Sandbox(policy=strict(forks=0)) as box:
        with pytest.raises(Refused, match=r"limits\.forks = 0"):
            box.snapshot()
        with pytest.raises(Refused, match=r"limits\.forks = 0"):
            box.fork()
        assert session_of(box).checkpoint()


# -- what holds them together -------------------------------------------------------------------------


def test_each_copy_has_a_cgroup_of_its_own_exactly_if_the_session_has_one():
    with Sandbox(policy=strict()) as box:
        process = session_of(box)._process
        assert process is not None
        with box.fork() as copy:
            if process.group is None:
                assert session_of(copy)._group is None
                return
            group = session_of(copy)._group
            assert group is not None and group.evidence == process.group.evidence
            assert members(group) == {str(session_of(copy)._worker.host_pid)}
            assert session_of(copy).checkpoint()
            assert len(members(group)) == 2
            with copy.fork(), copy.snapshot():
                copy.run("x = 1").check()
                assert session_of(copy).checkpoint() and session_of(copy).checkpoint()
                assert group._bounds is not None and process.group._bounds is not None
                assert group._bounds.processes == process.group._bounds.processes + 1
            assert session_of(copy).checkpoint()
            assert group._bounds == process.group._bounds
        assert not members(group)


def test_without_cgroups_copies_are_weighed():
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        without_group(session)
        session._worker.weighed = True
        with box.fork() as copy:
            made = session_of(copy)
            assert made._group is None and made._worker.weighed
            made._worker._limits = made._worker._limits.model_copy(update={"memory_bytes": 8 << 20})
            assert isinstance(copy.run("x = 'x' * (64 << 20)\nwhile True: pass").error, CellMemoryLimit)
            assert box.run("1").value == 1


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("what", ["join", "limit"])
def test_a_copy_without_a_cgroup_is_none_if_the_session_has_one(what: str, monkeypatch: pytest.MonkeyPatch):
    with Sandbox(policy=strict()) as box:
        process = session_of(box)._process
        assert process is not None
        if process.group is None:
            process.group = Boundless()
            monkeypatch.setattr(local, "cgroup", SimpleNamespace(join=lambda process: Boundless()))
        box.fork().close()
        with monkeypatch.context() as patched:
            if what == "join":
                patched.setattr(local, "cgroup", SimpleNamespace(join=lambda process: "there is none"))
            else:
                patched.setattr(type(process.group), "limit", raises)
            with pytest.raises(EnvironmentUnavailable, match="there is none"):
                box.fork()
        assert box.fork().run("1").value == 1
        assert box.run("1").value == 1


def raises(*_: Any) -> None:
    raise OSError(1, "there is none")


def test_limits_that_the_kernel_does_not_take_leave_those_that_are(tmp_path: Path):
    group = Group(Parents(2, (tmp_path,), "a machine with cgroups"))
    bounds, other = CgroupBounds(1 << 30, 8, 1.0), CgroupBounds(1 << 20, 8, 1.0)
    group.adjust(bounds)
    assert group._bounds == bounds
    group._paths = (tmp_path / "gone",)
    group.adjust(other)
    assert group._bounds == bounds
    group.remove()


@pytest.mark.parametrize("free", [0, 3])
def test_a_host_without_descriptors_makes_no_copy_and_loses_nothing(free: int):
    with Sandbox(policy=strict()) as box:
        box.fork().close()
        with no_descriptors(free), pytest.raises(EnvironmentUnavailable, match="short of something"):
            box.fork()
        with box.fork() as copy:
            assert copy.run("1").value == 1


def test_one_copy_is_made_at_a_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "_CHECKPOINT_SECONDS", 0.1)
    with Sandbox(policy=strict(memory_bytes=64 << 20)) as box, box.fork() as copy:
        with tree_of(box).cloning(1.0) as turn:
            assert turn
            assert not session_of(box).checkpoint()
            with pytest.raises(EnvironmentUnavailable, match="short of something"):
                copy.fork()
        assert session_of(box).checkpoint()
        copy.fork().close()


# -- hostile ones -------------------------------------------------------------------------------------


@pytest.fixture
def pair(hostile: Unscreened) -> Iterator[tuple[LocalSession, LocalSession]]:
    """A hostile session and its copy, which is one as well."""
    session = session_of(hostile)
    copy = session.fork()
    yield session, copy
    copy.close()


BAD = {
    "never answers": "time.sleep(600)",
    "forks twice": "fd = self._channel.take_fd()\n    if not os.fork(): os.fork()\n    time.sleep(600)",
    "keeps the copy": "fd = self._channel.take_fd()\n    os.fork()\n    time.sleep(600)",
    "another's pid": "fd = self._channel.take_fd()\n    if os.fork(): os.write(fd, b'x')\n    time.sleep(600)",
    "keeps the channel": "fd = self._channel.take_fd()\n    if not os.fork():\n        os.dup2(fd, 3)\n"
    "        conclude()\n        os.close(fd)",
    "a lie": "fd = self._channel.take_fd()\n    if os.fork():\n        os.close(fd)\n        return\n"
    "    os.close(fd)\n    time.sleep(600)",
}


@pytest.mark.parametrize("way", BAD)
@pytest.mark.parametrize("what", ["fork", "checkpoint"])
def test_who_makes_no_honest_copy_ends_alone(
    pair: tuple[LocalSession, LocalSession], way: str, what: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(local, "_CHECKPOINT_SECONDS", 0.3)
    session, copy = pair
    third = session.fork()
    ran(copy, f"def bad(self, request):\n    {BAD[way]}\nreplace(bad)")
    if what == "fork":
        with pytest.raises((SessionEnded, EnvironmentUnavailable)):
            copy.fork()
    else:
        assert not copy.checkpoint()
    assert not copy.alive
    workers = (session._root, session._spare, session._worker, third._spare, third._worker)
    assert population(session) <= {each.host_pid for each in workers if each is not None}
    assert ran(session, "print(1)") == ran(third, "print(1)") == "1\n"
    third.close()


def test_a_copy_that_was_good_once_may_fail_the_next_time(
    pair: tuple[LocalSession, LocalSession], monkeypatch: pytest.MonkeyPatch
):
    """The spare of a session forks for `fork`, and its worker for a checkpoint: here the spare does not."""
    monkeypatch.setattr(local, "_CHECKPOINT_SECONDS", 0.3)
    session, copy = pair
    ran(copy, "done = Worker._checkpoint\ncount = 0\n")
    ran(copy, "def twice(self, request):\n    global count\n    count += 1\n    if count == 1: return done(self, request)\n"
        "    time.sleep(600)\nreplace(twice)")  # fmt: skip
    with pytest.raises(local.NotCopied):
        copy.fork()
    assert not copy.alive and session.alive
    assert ran(session, "print(1)") == "1\n"


def test_a_fork_that_nobody_asked_for_ends_the_session_that_makes_it(pair: tuple[LocalSession, LocalSession]):
    session, copy = pair
    results: list[Any] = []
    running = threading.Thread(target=lambda: results.append(session.execute("burn(1.0)\nprint('done')", refuse)))
    running.start()
    time.sleep(0.2)
    result = copy.execute("os.fork()", refuse)
    assert isinstance(result.error, WallViolation) and not copy.alive
    running.join()
    assert results[0].stdout == "done\n" and results[0].error is None


def test_a_call_for_a_copy_is_found_although_another_session_received_it(
    pair: tuple[LocalSession, LocalSession], monkeypatch: pytest.MonkeyPatch
):
    """Sessions of a tree share the listener: each looks for its own calls."""
    session, copy = pair
    over = threading.Event()
    tree = tree_of(session)
    assert tree.listener is not None

    def look() -> None:
        while not over.is_set():
            assert tree.listener is not None and not tree.listener.asked_by([session._worker.host_pid])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(5):
            assert copy.checkpoint()
            copy.fork().close()
    finally:
        over.set()
        looking.join()


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(-1, 9)",
        "os.kill({0}, 9)",
        "os.kill(1, 9)",
        "import signal\nsignal.pidfd_send_signal(os.pidfd_open({0}), 9)",
        "open('/proc/{0}/mem', 'rb+')",
        "open('/proc/1/mem', 'rb+')",
        "os.waitpid(-1, 0)",
        "os.sched_setaffinity({0}, [0])",
        "os.setpriority(os.PRIO_USER, 0, 19)",
    ],
)
def test_no_copy_does_anything_to_another(pair: tuple[LocalSession, LocalSession], code: str):
    session, copy = pair
    status = Path(f"/proc/{session._worker.host_pid}/status").read_text()
    [inside] = [line.split()[-1] for line in status.splitlines() if line.startswith("NSpid:")]
    result = copy.execute(code.format(inside), refuse)
    assert result.error is not None, result
    assert ran(session, "print(1)") == "1\n"


def test_init_is_no_worker_of_a_session_with_copies(pair: tuple[LocalSession, LocalSession]):
    session, copy = pair
    assert session._root not in (session._worker, session._spare, copy._worker, copy._spare)
    assert state(session._root) == "T" and (session._root.held_bytes() or 0) < 64 << 20


def test_calls_are_answered_by_who_they_are_made_to():
    seen: list[str] = []
    with Sandbox(policy=strict(), tools={"tool": lambda text: seen.append(text) or len(seen)}) as box, box.fork() as copy:
        assert [each.run(f"tool('{name}')").value for each, name in ((box, "a"), (copy, "b"))] == [1, 2]
    assert seen == ["a", "b"]


class Sink:
    """An audit log that keeps the names of sessions."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[tuple[str, int]] = []
        self.full = False

    def session_start(self, session: str, **_: Any) -> None:
        if self.full:
            raise OSError("no space")
        self.began.append(session)

    def session_end(self, session: str, *, cells: int, **_: Any) -> None:
        self.ended.append((session, cells))


@pytest.mark.usefixtures("nothing_left")
def test_each_copy_has_an_audit_record_of_its_own():
    sink: Any = Sink()
    with Sandbox(policy=strict(), audit=sink) as box:
        box.run("1").check()
        with box.fork() as copy:
            copy.run("1").check()
            copy.run("1").check()
        sink.full = True
        with pytest.raises(OSError, match="no space"):
            box.fork()
        assert tree_of(box)._users == 1
    assert len(set(sink.began)) == 2 and sink.ended == [(sink.began[1], 2), (sink.began[0], 1)]


def test_a_copy_has_the_files_and_begins_again_by_itself():
    with Sandbox(policy="standard", context="the context") as box:
        box.files["a.txt"] = b"a"
        with box.fork() as copy:
            copy.run("files['b.txt'] = files['a.txt']").check()
            assert (sorted(copy.files), sorted(box.files)) == (["a.txt", "b.txt"], ["a.txt"])
            copy.reset()
            assert copy.run("context").value == "the context" and not list(copy.files)
            assert box.files["a.txt"] == b"a"


# -- on an event loop ---------------------------------------------------------------------------------


def test_copies_on_an_event_loop():
    async def twice(x: int) -> int:
        await asyncio.sleep(0.05)
        return 2 * x

    async def use() -> list[Any]:
        async with AsyncSandbox(policy=strict(), tools={"twice": twice}) as box:
            await box.run("x = twice(1)")
            async with await box.fork() as one, await box.fork() as two:
                await asyncio.gather(one.run("x = twice(x)"), two.run("x += 1"), box.run("x = twice(5)"))
                found = [await each.get("x") for each in (box, one, two)]
                kept = await one.snapshot()
                await two.restore(kept)
                kept.close()
                return [*found, await two.get("x")]

    assert asyncio.run(use()) == [10, 4, 3, 4]


def test_a_worker_is_dropped_once():
    with Sandbox(policy=strict()) as box, box.fork() as copy:
        tree, worker = tree_of(box), session_of(copy)._worker
        copy.close()
        tree.drop(worker)
        assert isinstance(worker, Worker) and worker.pidfd == -1
