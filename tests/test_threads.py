"""Threads that are used again: by one piece of work at a time, and by no process but the one that started them."""

from __future__ import annotations

import os
import queue
import threading
import time

from rlm_secure import threads


def ran(name: str = "test-work") -> threading.Thread:
    """The thread in which a piece of work ran, which has ended."""
    told: queue.Queue[threading.Thread] = queue.Queue()
    threads.start(lambda: told.put(threading.current_thread()), name)
    return told.get(timeout=20)


def rest(thread: threading.Thread) -> None:
    """Wait until the thread can be used again."""
    while thread not in threads._idle:
        os.sched_yield()


def test_a_thread_is_used_again_and_is_called_what_it_does() -> None:
    first = ran()
    rest(first)
    assert first.name == "rlm-secure-idle"
    names: queue.Queue[tuple[threading.Thread, str]] = queue.Queue()
    threads.start(lambda: names.put((threading.current_thread(), threading.current_thread().name)), "test-more")
    assert names.get(timeout=20) == (first, "test-more")
    assert first.daemon


def test_work_that_blocks_holds_up_no_other() -> None:
    over = threading.Event()
    for _ in range(100):
        threads.start(over.wait, "test-blocked")
    try:
        assert ran().name != "test-blocked"
    finally:
        over.set()


def test_no_more_than_a_few_wait_and_none_for_long(monkeypatch) -> None:
    monkeypatch.setattr(threads, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(threads, "_MOST_IDLE", 3)
    monkeypatch.setattr(threads, "_idle", [])
    over = threading.Event()
    for _ in range(20):
        threads.start(over.wait, "test-many")
    many = [each for each in threading.enumerate() if each.name == "test-many"]
    over.set()
    for thread in many:
        thread.join(20)
    deadline = time.monotonic() + 20  # what other tests have left may wait here for a moment
    while threads._idle and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (len(many), threads._idle) == (20, [])


def test_a_fork_uses_no_thread_of_its_parent() -> None:
    rest(ran())
    child = os.fork()
    if child == 0:
        try:
            ran()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
