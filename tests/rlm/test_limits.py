"""Limits and ends: upstream's exceptions with partial answers, and a tree that ends within a second."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from rlm_secure.errors import (
    BudgetExceededError,
    CancellationError,
    CellCrashed,
    ErrorThresholdExceededError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.events import CellCompleted, CellStarted, LimitReached, ModelCalled, RunCompleted, TurnStarted
from rlm_secure.policy.model import Limits, Policy
from rlm_secure.rlm.rlm import RLM
from tests.loops import Heard, cell, scripted
from tests.servers.openai_server import OpenAIServer

SPIN = cell("while True:\n    pass")
#: A tree ends within a second; a loaded machine is given one more.
SOON = 2.0


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Ctrl-C in the main thread, some time later."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def descendants() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


# -- limits ----------------------------------------------------------------------------------------------


def test_tokens_over_the_limit_end_the_run_with_what_there_is() -> None:
    with pytest.raises(TokenLimitExceededError) as caught:
        scripted(["a partial thought", "never"], max_tokens=10).completion("c")
    assert caught.value.partial_answer == "a partial thought"
    assert caught.value.tokens_used > caught.value.token_limit == 10
    assert "after iteration 1" in str(caught.value)


def test_cost_over_the_budget_ends_the_run_with_what_there_is() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": 0.75}
    with OpenAIServer(reply="thinking", usage=usage) as server:
        kwargs = {"api_key": "k", "model_name": "m", "base_url": server.base_url}
        rlm = RLM(backend_kwargs=kwargs, max_budget=1.0, prices={"m": "reported"})
        with pytest.raises(BudgetExceededError) as caught:
            rlm.completion("c")
    assert (caught.value.spent, caught.value.budget, caught.value.partial_answer) == (1.5, 1.0, "thinking")
    assert str(caught.value) == "Budget exceeded after iteration 2: spent $1.500000 of $1.000000 budget"


@pytest.mark.parametrize("limit", ["reply_bytes", "timeout_seconds"])
def test_calls_that_were_cut_off_are_paid_for(limit: str) -> None:
    """A cell can have a model write more, or for longer, than its policy grants; the provider charges for it."""
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        if len(body["messages"]) > 1:
            return cell("for _ in range(6):\n    print(llm_query('q'))")
        asked.append("q")
        if limit == "timeout_seconds":
            time.sleep(1.0)
        return "x" * 200_000

    with OpenAIServer(reply=reply) as server:
        kwargs = {"api_key": "k", "model_name": "m", "base_url": server.base_url, "sampling_args": {"max_tokens": 50_000}}
        policy = {"extends": "strict", "lm": {limit: 100_000 if limit == "reply_bytes" else 0.5}}
        rlm = RLM(backend_kwargs=kwargs, max_budget=1.0, prices={"m": (0.0, 5.0)}, policy=policy)
        with pytest.raises(BudgetExceededError) as caught:
            rlm.completion("c")
    assert len(asked) == 3  # for the fourth, 0.25 dollars are not there beside what the turn has cost
    assert 0.75 < caught.value.spent < 1.0


def test_errors_in_a_row_end_the_run_and_a_good_turn_begins_the_count_again() -> None:
    turns = [cell("1/0"), cell("x = 1"), cell("1/0"), cell("1/0"), "never"]
    heard = Heard()
    with pytest.raises(ErrorThresholdExceededError) as caught:
        scripted(turns, max_errors=2, on_event=heard).completion("c")
    assert (caught.value.error_count, caught.value.threshold) == (2, 2)
    assert "ZeroDivisionError" in (caught.value.last_error or "")
    assert caught.value.partial_answer == cell("1/0")
    assert [event.limit for event in heard.of(LimitReached)] == ["errors"]


def test_a_warning_on_stderr_is_no_error() -> None:
    turns = [cell("x = 1"), cell("y = 2"), cell("final_answer('fine')")]
    assert scripted(turns, max_errors=1).completion("c").response == "fine"


@pytest.mark.parametrize("turn", [cell("final_answer('ready')"), "FINAL(ready)"])
@pytest.mark.parametrize("limit", [{"max_tokens": 1}, {"max_errors": 1}])
def test_an_answer_that_is_ready_is_returned_when_the_turn_crosses_a_limit(turn: str, limit: dict) -> None:
    first = turn if "max_errors" not in limit else cell("1/0") + "\n" + turn
    assert scripted([first], **limit).completion("c").response == "ready"


def test_an_answer_that_is_ready_is_returned_when_the_deadline_passes_in_the_same_turn() -> None:
    def slow_answer(_) -> str:
        time.sleep(0.25)
        return cell("final_answer('in time')")

    policy = Policy(name="t", limits=Limits(run_seconds=0.5))
    scripted([slow_answer], policy=policy).completion("c")
    late = scripted(
        ["x " + cell("final_answer('in time')")], on_iteration_complete=lambda *_: time.sleep(0.6), policy=policy
    )
    assert late.completion("c").response == "in time"


def test_iterations_are_bounded_by_the_policy_too() -> None:
    policy = Policy.model_validate({"name": "t", "lm": {"iterations": 2}})
    completion = scripted(lambda messages: "no answer", max_iterations=50, policy=policy).completion("c")
    assert completion.usage_summary.model_usage_summaries["scripted"].total_calls == 3


def test_the_default_answer_may_cross_a_limit_with_a_partial_answer() -> None:
    with pytest.raises(TokenLimitExceededError) as caught:
        scripted(["so far", "never"], max_iterations=1, max_tokens=1).completion("c")
    assert caught.value.partial_answer == "so far"


# -- the deadline ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rlm",
    [
        pytest.param(lambda **k: scripted(["partial " + SPIN], **k), id="in a cell"),
        pytest.param(lambda **k: scripted(["partial", "late"], delay=0.3, **k), id="between turns"),
        pytest.param(lambda **k: scripted([lambda m: time.sleep(20) or "late"], **k), id="in the run's own model call"),
        pytest.param(
            lambda **k: scripted([cell("print(llm_query_batched(['q'] * 30))")], lambda p: time.sleep(20) or "x", **k),
            id="in model calls of a cell",
        ),
        pytest.param(
            lambda **k: scripted([cell("print(rlm_query_batched(['q'] * 6))")], child_turns=[SPIN], max_depth=2, **k),
            id="in cells of children",
        ),
        pytest.param(
            lambda **k: scripted(
                [cell("while True:\n    try:\n        llm_query('q')\n    except Exception:\n        pass")], "r", delay=0.01, **k
            ),
            id="in a cell that will not stop",
        ),
        pytest.param(
            lambda **k: scripted(["partial"], environment_kwargs={"setup_code": "while True:\n    pass"}, **k),
            id="in set-up code",
        ),
        pytest.param(
            lambda **k: scripted(
                [cell("class C:\n    def __str__(self):\n        while True:\n            pass\nx = C()") + "\nFINAL_VAR(x)"],
                **k,
            ),
            id="in the text of a variable",
        ),
        pytest.param(
            lambda **k: scripted(
                [cell("print(rlm_query('q'))")], child_turns=[SPIN], max_depth=2, custom_sub_tools={}, **k
            ),
            id="in a cell of one child",
        ),
    ],
)
def test_the_deadline_ends_the_whole_tree(rlm) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutExceededError) as caught:
        rlm(max_timeout=0.5).completion("c")
    assert 0.4 < time.monotonic() - began < 0.5 + SOON
    assert caught.value.timeout == 0.5


def test_a_timeout_carries_the_partial_answer() -> None:
    with pytest.raises(TimeoutExceededError) as caught:
        scripted(["the best so far", lambda m: time.sleep(20) or "late"], max_timeout=0.3).completion("c")
    assert caught.value.partial_answer == "the best so far"


def test_the_policys_run_seconds_are_a_deadline() -> None:
    policy = Policy(name="t", limits=Limits(run_seconds=0.3))
    with pytest.raises(TimeoutExceededError):
        scripted([SPIN], policy=policy).completion("c")


def test_a_deadline_ends_the_check_of_an_answer() -> None:
    either = [{"items": {"$ref": "#"}, "type": "array", "maxItems": 1}, {"items": {"$ref": "#"}, "type": "array"}]
    answer: Any = "x" * 100_000
    for _ in range(30):
        answer = [answer]
    rlm = scripted([f"FINAL({json.dumps(answer)})"], answer_schema={"oneOf": either}, max_timeout=0.5)
    began = time.process_time()
    with pytest.raises(TimeoutExceededError):
        rlm.completion("c")
    assert time.process_time() - began < 4  # to its last step it takes ten seconds


# -- cancelling ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rlm",
    [
        pytest.param(lambda: scripted(["partial " + SPIN]), id="in a cell"),
        pytest.param(lambda: scripted(["partial", lambda m: time.sleep(20) or "late"]), id="in a model call"),
        pytest.param(
            lambda: scripted(
                ["partial " + cell("rlm_query_batched(['q'] * 6)")], child_turns=[SPIN], max_depth=2,
                max_concurrent_subcalls=3,
            ),
            id="in children",
        ),
        pytest.param(
            lambda: scripted(["partial " + cell("llm_query_batched(['q'] * 9)")], lambda p: time.sleep(20) or "x"),
            id="in a batch",
        ),
        pytest.param(
            lambda: scripted(["partial", lambda m: time.sleep(20) or "late"], max_iterations=1), id="in the default answer"
        ),
    ],
)  # fmt: skip
def test_ctrl_c_ends_the_whole_tree_with_the_partial_answer(rlm) -> None:
    scripted([cell("x = 1"), "FINAL(warm)"]).completion("c")
    before = descendants()
    began = time.monotonic()
    with interrupted_after(0.6), pytest.raises(CancellationError) as caught:
        rlm().completion("c")
    assert time.monotonic() - began < 0.6 + SOON
    assert str(caught.value) == "Execution cancelled by user (Ctrl+C)"
    assert (caught.value.partial_answer or "").startswith("partial")
    deadline = time.monotonic() + 20
    while len(descendants() - before) > 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    # The pool's two sealed sessions may have been replaced, and the child that the zygote keeps.
    assert len(descendants() - before) <= 3


def test_a_keyboard_interrupt_of_a_client_is_a_cancelled_run() -> None:
    def interrupt(_) -> str:
        raise KeyboardInterrupt

    with pytest.raises(CancellationError) as caught:
        scripted(["first", interrupt]).completion("c")
    assert caught.value.partial_answer == "first"
    with pytest.raises(CancellationError):
        scripted([cell("llm_query('q')")], interrupt).completion("c")


def test_cancelling_a_task_ends_its_run_and_its_calls_on_the_wire() -> None:
    with OpenAIServer(delay=20) as server:
        rlm = RLM(backend_kwargs={"api_key": "k", "model_name": "m", "base_url": server.base_url})

        async def cancelled() -> float:
            task = asyncio.create_task(rlm.acompletion("c"))
            while not server.in_flight:
                await asyncio.sleep(0.01)
            began = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - began

        assert asyncio.run(cancelled()) < SOON
        deadline = time.monotonic() + 20
        while server.in_flight and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (server.in_flight, server.cut_off) == (0, 1)


def test_cancelling_a_task_ends_a_cell() -> None:
    async def cancelled() -> float:
        task = asyncio.create_task(scripted([SPIN]).acompletion("c"))
        await asyncio.sleep(0.4)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(cancelled()) < SOON


def test_an_exception_in_acompletion_is_the_tasks() -> None:
    with pytest.raises(TokenLimitExceededError):
        asyncio.run(scripted(["x", "y"], max_tokens=1).acompletion("c"))


def test_a_timed_out_task_is_a_timeout() -> None:
    async def limited() -> None:
        async with asyncio.timeout(0.3):
            await scripted([SPIN]).acompletion("c")

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    assert time.monotonic() - began < 0.3 + SOON


def test_cancelling_a_task_whose_completion_has_just_ended_is_a_cancellation() -> None:
    heard = Heard()

    def trees() -> int:
        return sum(thread.name == "rlm-secure-tree" for thread in threading.enumerate())

    async def cancelled() -> None:
        before = trees()
        task = asyncio.create_task(scripted(["FINAL(done)"], on_event=heard).acompletion("c"))
        while not heard:
            await asyncio.sleep(0)
        # Without a word to the event loop: it learns of the end and of the cancellation at the same time.
        deadline = time.monotonic() + 20
        while (not heard.of(RunCompleted) or trees() > before) and time.monotonic() < deadline:
            time.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_tree_that_has_ended_calls_nobody_and_is_stopped_without_a_word() -> None:
    tree = RLM(backend="scripted")._tree()
    with tree:
        pass

    async def call() -> int:
        return 1

    with pytest.raises(CancellationError, match="its run has ended"):
        tree.call(call())
    tree.stop("again")
    tree.stop("and again")


# -- closing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(lambda: ["partial " + SPIN], id="in a cell"),
        pytest.param(lambda: ["partial", lambda m: time.sleep(20) or "late"], id="in a model call"),
        pytest.param(lambda: ["partial " + cell("wait()")], id="in a tool"),
    ],
)
def test_closing_ends_the_completions_of_a_persistent_session_at_once(turns) -> None:
    heard = Heard()
    tools = {"wait": lambda: time.sleep(20)}
    rlm = scripted(turns(), persistent=True, on_event=heard, custom_tools=tools)
    ended: list[BaseException] = []

    def complete() -> None:
        try:
            rlm.completion("c")
        except BaseException as error:
            ended.append(error)

    threads = [threading.Thread(target=complete) for _ in range(3)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while not heard.of(TurnStarted) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    began = time.monotonic()
    rlm.close()
    assert time.monotonic() - began < SOON
    for thread in threads:
        thread.join(SOON)
    assert [type(error) for error in ended] == [CancellationError] * 3
    assert {str(error) for error in ended} == {"Execution cancelled: its RLM was closed"}
    assert rlm._persistent_env is None


@pytest.mark.parametrize("event", [TurnStarted, CellStarted, CellCompleted, ModelCalled])
def test_a_callback_that_closes_ends_its_own_completion(event) -> None:
    turns = [cell("x = 1"), cell("final_answer(x)")]
    rlm = scripted(turns, persistent=True, on_event=lambda each: rlm.close() if isinstance(each, event) else None)
    with pytest.raises(CancellationError, match="its RLM was closed"):
        rlm.completion("c")
    assert rlm._persistent_env is None


def test_what_was_closed_can_be_used_again() -> None:
    with scripted(lambda messages: cell("final_answer(context)"), persistent=True) as rlm:
        assert rlm.completion("a").response == "a"
        rlm.close()
        rlm.close()
        assert rlm.completion("b").response == "b"
        assert rlm._users == []


# -- what a cell can do to the run -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    ["raise SystemExit(3)", "raise KeyboardInterrupt", "exit()", "x = 'a' * 10**10", "1/0", "def f(): return f()\nf()"],
)
def test_no_cell_ends_the_host_or_the_run(code: str) -> None:
    assert scripted([cell(code), "FINAL(went on)"]).completion("c").response == "went on"


def test_a_cell_over_its_time_is_told_and_the_run_goes_on() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return cell("final_answer(x)")

    policy = Policy(name="t", limits=Limits(cell_seconds=0.3))
    assert scripted([cell("x = 'kept'"), SPIN, second], policy=policy).completion("c").response == "kept"
    assert "cell_seconds" in seen[0] or "seconds" in seen[0]


def test_a_session_that_is_lost_is_replaced_and_the_model_told() -> None:
    heard = Heard()
    policy = Policy(name="t", limits=Limits(cells=3, resumes=1))
    seen: list[str] = []

    def after(messages) -> str:
        seen.append(messages[-2]["content"])
        return cell("final_answer(context)")

    turns = [cell("x = 1"), cell("x = 2"), cell("x = 3"), cell("x = 4"), after]
    completion = scripted(turns, policy=policy, on_event=heard).completion("the context")
    assert completion.response == "the context"
    assert "new session" in seen[0]
    assert heard.of(RunCompleted)[-1].error is None
    assert [isinstance(event.block.result.error, CellCrashed) for event in heard.of(CellCompleted)].count(True) == 1
