"""The event loops of runs: used again, one tree at a time, whatever a client does on them."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rlm_secure.clients.base import BaseLM
from rlm_secure.policy.model import Policy
from rlm_secure.rlm import loops
from rlm_secure.rlm.budget import Allowance, Ledger
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.tree import Tree
from rlm_secure.types import ModelUsageSummary, UsageSummary
from tests.emulators.base import until


class Doing(BaseLM):
    """Does something on the loop that asks it."""

    def __init__(self, deed: Callable[[], Any]) -> None:
        super().__init__("doing")
        self.deed = deed

    def completion(self, prompt: Any) -> str:
        raise AssertionError("the loop awaits it")

    async def acompletion(self, prompt: Any) -> str:
        done = self.deed()
        if asyncio.iscoroutine(done):
            done = await done
        return str(done)

    def get_usage_summary(self) -> UsageSummary:
        return UsageSummary(model_usage_summaries={"doing": self.get_last_usage()})

    def get_last_usage(self) -> ModelUsageSummary:
        return ModelUsageSummary(1, 1, 1)


def tree_of(seconds: float = 60.0) -> Tree:
    policy = Policy.model_validate({"name": "t", "limits": {"run_seconds": seconds}})
    return Tree(Ledger(Allowance.of(policy)), concurrency=4, children=1, policy=policy)


def asked(deed: Callable[[], Any]) -> str:
    """What a run of one call says, of a client that does `deed`."""
    tree = tree_of()
    with tree, LMHandler(Doing(deed), tree=tree) as handler:
        return handler.completion("q")


def where() -> tuple[int, int]:
    return threading.get_ident(), id(asyncio.get_running_loop())


@pytest.fixture(autouse=True)
def no_idle_loop() -> None:
    loops._end_all()


def test_runs_one_after_another_have_one_loop_and_one_thread() -> None:
    before = threading.active_count()
    assert len({asked(where) for _ in range(20)}) == 1
    assert len(loops._idle) == 1
    # Or one that was idle; what others use for a moment ends.
    assert until(lambda: threading.active_count() <= before + 1), threading.enumerate()


def test_trees_at_the_same_time_have_loops_of_their_own() -> None:
    with tree_of(), tree_of():
        assert loops._idle == []
    assert len({id(each.events) for each in loops._idle}) == 2


def test_a_client_that_blocks_its_loop_delays_no_other_tree() -> None:
    begun, over = threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        over.wait(20)
        return "late"

    blocked = threading.Thread(target=asked, args=(block,))
    blocked.start()
    try:
        assert begun.wait(20)
        assert asked(lambda: "at once") == "at once"
        assert not over.is_set()
    finally:
        over.set()
        blocked.join(20)


def test_what_a_client_leaves_on_the_loop_ends_with_its_run() -> None:
    ended = threading.Event()

    async def stay() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    kept: list[Any] = []

    async def leave() -> str:
        kept.append(asyncio.create_task(stay()))
        await asyncio.sleep(0)
        return "left"

    assert asked(leave) == "left"
    assert ended.is_set()
    assert len(loops._idle) == 1


def test_a_loop_on_which_a_task_does_not_end_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlm_secure.rlm import tree

    monkeypatch.setattr(tree, "_JOIN", 0.1)
    kept: list[Any] = []

    async def stay() -> None:
        for _ in range(20):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    async def leave() -> str:
        kept.append(asyncio.create_task(stay()))
        await asyncio.sleep(0)
        return "left"

    assert asked(leave) == "left"
    assert loops._idle == []


def test_ctrl_c_in_a_client_reaches_its_caller_and_ends_no_loop() -> None:
    def interrupt() -> str:
        raise KeyboardInterrupt

    first = asked(where)
    with pytest.raises(KeyboardInterrupt):
        asked(interrupt)
    assert asked(where) == first


def test_a_client_that_stops_or_closes_its_loop_ends_no_later_run() -> None:
    def stop() -> str:
        asyncio.get_running_loop().stop()
        return "stopped"

    first = asked(where)
    assert asked(stop) == "stopped"
    assert asked(where) == first
    loop = loops.take("test")
    loop.end()
    loop.give_back()
    assert not loop.runs
    assert asked(lambda: "another") == "another"


def test_a_deadline_of_an_ended_tree_ends_no_later_one() -> None:
    with tree_of(seconds=0.2) as ended:
        pass
    with tree_of() as tree:
        time.sleep(0.4)
        assert not ended.stopped
        assert not tree.stopped
    ended.stop("late")
    with tree_of() as tree:
        assert not tree.stopped


def test_a_call_has_the_context_of_its_caller() -> None:
    said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")
    assert asked(said.get) == "nothing"
    said.set("mine")
    assert asked(said.get) == "mine"


def test_a_fork_makes_loops_of_its_own() -> None:
    asked(where)
    child = os.fork()
    if child == 0:
        try:
            assert loops._idle == []
            assert asked(lambda: "in the fork") == "in the fork"
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert asked(lambda: "in the parent") == "in the parent"
