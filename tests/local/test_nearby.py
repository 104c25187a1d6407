"""Where a worker runs: beside its host for a short cell, wherever the host may run for a long one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import nearby, pidfd

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor: nowhere else to run")


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def of_worker(box: Sandbox) -> set[int]:
    worker = box._repl._session._worker
    pid = pidfd.pid_of(worker._pidfd)
    assert pid is not None
    return os.sched_getaffinity(pid)


def test_a_pid_is_found_where_the_kernel_cannot_say(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = box._repl._session._worker._pidfd
    pid = pidfd.pid_of(handle)

    def unknown(*_: object) -> None:
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr(pidfd, "_info", unknown)
    assert pid is not None and pidfd.pid_of(handle) == pid
    assert pidfd.pid_of(-1) is None


def settles(box: Sandbox) -> bool:
    """Whether short cells confine the worker of `box`: not each is one on a busy machine, nor while the pool waits."""
    for _ in range(100):
        time.sleep(0.02)
        box.run("x = 1")
        if len(of_worker(box)) == 1:
            return True
    return False


def test_a_short_cell_leaves_its_worker_beside_its_host(box: Sandbox) -> None:
    assert settles(box)


def test_the_thread_of_the_host_is_where_it_was(box: Sandbox) -> None:
    before = os.sched_getaffinity(0)
    box.run("x = 1")
    box.run("while True: pass", timeout=0.2)
    assert os.sched_getaffinity(0) == before


def test_a_long_cell_has_the_machine_of_its_host(box: Sandbox) -> None:
    box.run("x = 1")
    done = threading.Thread(target=box.run, args=("while True: pass",), kwargs={"timeout": 1.0})
    done.start()
    time.sleep(0.3)
    seen = of_worker(box)
    done.join()
    assert seen == os.sched_getaffinity(0)


def test_a_host_that_is_confined_stays_so_with_its_workers(box: Sandbox) -> None:
    before = os.sched_getaffinity(0)
    mine = {max(before)}
    os.sched_setaffinity(0, mine)
    try:
        box.run("x = sum(range(3_000_000))")
        assert os.sched_getaffinity(0) == mine
        assert of_worker(box) == mine
    finally:
        os.sched_setaffinity(0, before)


def test_a_tool_that_a_cell_calls_is_not_confined() -> None:
    before = os.sched_getaffinity(0)
    seen: list[set[int]] = []

    def look() -> int:
        other = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        other.start()
        other.join()
        return 1

    with Sandbox(tools={"look": look}) as box:
        assert box.run("print(look() + look())").stdout == "2\n"
    assert seen == [before, before]


def test_hosts_that_wait_at_the_same_time_share_the_machine() -> None:
    with Sandbox() as one, Sandbox() as other:
        one.run("x = 1")
        lasting = threading.Thread(target=one.run, args=("while True: pass",), kwargs={"timeout": 1.0})
        lasting.start()
        time.sleep(0.3)
        for _ in range(5):
            other.run("x = 1")
        assert of_worker(other) == os.sched_getaffinity(0)
        lasting.join()
        assert settles(other)


def test_a_copy_of_a_worker_is_not_left_where_that_one_was(box: Sandbox) -> None:
    assert settles(box)
    before = box._repl._session._worker
    assert box._repl._session.checkpoint()
    with Sandbox() as other:
        lasting = threading.Thread(target=other.run, args=("while True: pass",), kwargs={"timeout": 1.0})
        lasting.start()
        time.sleep(0.3)
        box.run("x = 2")
        assert box._repl._session._worker is not before
        assert of_worker(box) == os.sched_getaffinity(0)
        lasting.join()


def test_a_processor_beyond_the_mask_is_left_alone(box: Sandbox) -> None:
    worker = box._repl._session._worker

    class Large:
        def sched_getcpu(self) -> int:
            return 4096

    worker._nearby._libc = Large()
    assert box.run("print(1)").stdout == "1\n"
    assert worker._nearby._libc is None


def test_a_host_whose_kernel_refuses_works_all_the_same(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = box._repl._session._worker
    monkeypatch.setattr(pidfd, "pid_of", lambda _: None)  # a /proc that shows nothing
    worker._nearby = nearby.Nearby(worker._pidfd, placed=False)
    for _ in range(3):
        assert box.run("print(1)").stdout == "1\n"
    assert not worker._nearby.held


@pytest.mark.parametrize("gone", [False, True])
def test_a_process_that_is_gone_is_never_moved(box: Sandbox, gone: bool) -> None:
    """Its pid may be another's by now. The control: one that lives is moved."""
    worker = box._repl._session._worker
    if gone:
        worker.kill()
    assert worker._nearby._move(nearby._only(0)) is not gone
