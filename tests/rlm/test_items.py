"""The items of a batch as they come: nothing waits for a reader, and nothing is left when nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rlm_secure import Event, Item, Refused, RLMChatCompletion, RunCompleted, UsageSummary
from rlm_secure.rlm.loops import RunLoop
from tests.emulators.base import until
from tests.loops import cell, limited, scripted


def test_items_come_as_they_are_done_and_wait_for_no_reader() -> None:
    quick, slow = threading.Event(), threading.Event()
    progress: list[tuple[int, int]] = []

    def reply(prompt: str) -> str:
        (slow if "slow" in prompt else quick).wait(20)
        return prompt

    rlm = scripted(lambda m: cell("final_answer(llm_query(context))"), reply)
    prompts = ["slow", "one", "two", "done"]
    done = Item(3, RLMChatCompletion("m", "done", "d", UsageSummary({}), 0.0))
    items = rlm.batch_as_completed(prompts, resume=[done], on_progress=lambda *now: progress.append(now))
    quick.set()
    first = next(items)
    until(lambda: len(progress) == 2)  # it goes on while nobody asks
    slow.set()
    rest = list(items)
    assert [item.response for item in (first, *rest)][2:] == ["slow"]
    assert sorted(item.index for item in (first, *rest)) == [0, 1, 2]
    assert progress == [(2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("left_by", ["close", "interrupt", "aclose", "cancel"])
def test_leaving_the_items_early_ends_all_runs(left_by: str) -> None:
    sessions: list[str] = []
    ended: list[str | None] = []

    class Sessions:
        def session_start(self, session: str, **_: Any) -> None:
            sessions.append(session)

        def session_end(self, session: str, **_: Any) -> None:
            sessions.remove(session)

        def __getattr__(self, _: str) -> Any:
            return lambda *_, **__: None

    def heard(event: Event) -> None:
        if isinstance(event, RunCompleted):
            ended.append(event.error)

    turn = lambda m: "FINAL(x)" if "first" in m[1]["content"] else cell("while True: pass")  # noqa: E731
    rlm = scripted(turn, audit=Sessions(), on_event=heard)
    asked = (["a"] * 6, ["first", *["then"] * 5])

    async def left() -> None:
        items = rlm.abatch_as_completed(*asked, concurrency=3)
        if left_by == "aclose":
            async with contextlib.aclosing(items):
                assert (await anext(items)).index == 0
            return
        task = asyncio.create_task(read(items))
        while not ended:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def read(items: AsyncIterator[Item]) -> None:
        async for _ in items:
            pass

    began = time.monotonic()
    if left_by == "close":
        for item in rlm.batch_as_completed(*asked, concurrency=3):
            assert item.index == 0
            break
    elif left_by == "interrupt":
        with pytest.raises(KeyboardInterrupt):
            for _ in rlm.batch_as_completed(*asked, concurrency=3):
                threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    else:
        asyncio.run(left())
    assert time.monotonic() - began < 15
    assert sessions == []
    assert Counter(ended)[None] == 1
    assert Counter(ended)["CancellationError"] == len(ended) - 1 in (1, 2, 3)  # no further one began
    names = ("rlm-secure-stream", "rlm-secure-child")
    until(lambda: not [thread for thread in threading.enumerate() if thread.name in names])


def test_what_a_batch_raises_is_raised_where_its_items_are_read() -> None:
    rlm = scripted(["FINAL(x)"], policy=limited(calls=2))
    with pytest.raises(Refused, match="a batch of 3 prompts"):
        next(rlm.batch_as_completed(["p"] * 3))
    with pytest.raises(ValueError, match="there is no engine 'dask'"):
        next(rlm.batch_as_completed(["p"], engine="dask"))

    async def read() -> list[Item]:
        return [item async for item in rlm.abatch_as_completed(["p"] * 2, concurrency=asked)]

    asked = 0
    with pytest.raises(ValueError, match="concurrency is 0"):
        asyncio.run(read())
    asked = 2
    assert [item.response for item in asyncio.run(read())] == ["x", "x"]


def test_prompts_that_the_reader_takes_away_are_answered_as_they_were() -> None:
    prompts = [f"prompt {number}" for number in range(5)]
    questions = list(prompts)
    read = threading.Event()

    def turn(messages: list[dict[str, Any]]) -> str:
        if "prompt 0" not in messages[1]["content"]:
            assert read.wait(20)
        return cell("final_answer(context)")

    answers = {}
    for item in scripted(turn).batch_as_completed(prompts, questions, concurrency=1):
        answers[item.index] = item.response
        prompts.clear()
        questions.clear()
        read.set()
    assert answers == {number: f"prompt {number}" for number in range(5)}


def test_items_that_the_garbage_collector_leaves_end_in_whatever_thread_it_runs() -> None:
    turn = lambda m: "FINAL(x)" if "first" in m[1]["content"] else cell("while True: pass")  # noqa: E731
    items = scripted(turn).batch_as_completed(["a"] * 3, ["first", "then", "then"], concurrency=3)
    next(items)
    [loop] = [each for each in gc.get_objects() if isinstance(each, RunLoop) and each._thread.name == "rlm-secure-tree"]
    left = [items]
    del items
    collected = asyncio.run_coroutine_threadsafe(emptied(left), loop.events)  # as a collection on the tree's own loop
    collected.result(10)
    names = ("rlm-secure-stream", "rlm-secure-child")
    until(lambda: not [thread for thread in threading.enumerate() if thread.name in names])


async def emptied(left: list[Any]) -> None:
    left.clear()
