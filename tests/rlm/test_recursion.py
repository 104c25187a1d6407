"""Children: sandboxes of their own, one ledger, one place in a bounded number, upstream's error strings."""

from __future__ import annotations

import threading
import time

import psutil
import pytest

from rlm_secure.errors import BudgetExceededError, CallLimitExceededError, CancellationError, TokenLimitExceededError
from rlm_secure.events import ModelCalled, RunStarted, SubcallStarted
from rlm_secure.rlm.rlm import RLM
from rlm_secure.rlm.slots import ChildSlots
from tests.loops import Heard, cell, limited, scripted
from tests.servers.openai_server import OpenAIServer

ANSWER_CONTEXT = [cell("final_answer(context.upper())")]


def test_a_child_runs_cells_of_its_own_over_its_prompt() -> None:
    rlm = scripted(
        [cell("secret = 'of the parent'\nfinal_answer(rlm_query('for the child'))")],
        child_turns=[cell("final_answer(context + ' / ' + ('sees it' if 'secret' in SHOW_VARS() else 'alone'))")],
        max_depth=2,
    )
    assert rlm.completion("for the root").response == "for the child / alone"


def test_children_of_a_batch_answer_in_order() -> None:
    rlm = scripted(
        [cell("final_answer(rlm_query_batched([f'c{n}' for n in range(12)]))")], child_turns=ANSWER_CONTEXT, max_depth=2
    )
    assert rlm.completion("x").response == str([f"C{n}" for n in range(12)])


def test_a_tree_goes_down_to_max_depth_and_ends_in_a_plain_model() -> None:
    heard = Heard()
    rlm = scripted(
        [cell("final_answer(rlm_query('1'))")],
        lambda prompt: f"plain({prompt})",
        child_turns=[cell("final_answer('[' + rlm_query(context + '+') + ']')")],
        max_depth=3,
        on_event=heard,
    )
    assert rlm.completion("x").response == "[[plain(1++)]]"
    assert [(event.depth, event.environment) for event in heard.of(RunStarted)] == [
        (0, "local"), (1, "local"), (2, "local"),
    ]  # fmt: skip
    assert [event.purpose for event in heard.of(ModelCalled)] == ["turn", "turn", "turn", "rlm_query"]


def test_at_max_depth_one_rlm_query_is_a_plain_model_call() -> None:
    rlm = scripted([cell("final_answer([rlm_query('a'), *rlm_query_batched(['b', 'c'])])")], lambda p: p * 2)
    assert rlm.completion("x").response == str(["aa", "bb", "cc"])


def test_the_usage_of_children_is_the_parents_too() -> None:
    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['a', 'b']))")], "r",
        child_turns=[cell("final_answer(llm_query('q'))")], max_depth=2,
    )  # fmt: skip
    usage = rlm.completion("x").usage_summary.model_usage_summaries["scripted"]
    assert usage.total_calls == 1 + 2 + 2


def test_a_failing_child_is_an_error_string_of_upstreams() -> None:
    rlm = scripted([cell("final_answer(rlm_query('a'))")], child_turns=[], max_depth=2)
    assert rlm.completion("x").response.startswith("Error: Child RLM completion failed - the scripted backend")


def test_a_leaf_that_fails_says_so_in_upstreams_words() -> None:
    def broken(_: str) -> str:
        raise RuntimeError("secret")

    rlm = scripted([cell("final_answer([rlm_query('a'), *rlm_query_batched(['b'])])")], broken)
    assert rlm.completion("x").response == str(["Error: LM query failed at max depth - RuntimeError"] * 2)


def test_a_child_may_use_only_an_allowed_model() -> None:
    models: list[str] = []
    rlm = scripted(
        [cell("final_answer([rlm_query('a', model='big'), rlm_query('b', model='evil')])")],
        child_turns=ANSWER_CONTEXT,
        max_depth=2,
        policy=limited(models=("big",)),
        backend_kwargs={"model_name": "small"},
        on_subcall_start=lambda depth, model, prompt: models.append(model),
    )
    completion = rlm.completion("x")
    assert completion.response.startswith("['A', \"Error: the model 'evil'")
    assert models == ["big"]
    assert set(completion.usage_summary.model_usage_summaries) == {"small", "big"}


def test_sub_tools_are_the_parents_unless_others_are_given() -> None:
    def answer(**kwargs) -> str:
        return scripted(
            [cell("final_answer(rlm_query('x'))")],
            child_turns=[cell("final_answer(str([name for name in ('mine', 'yours') if name in SHOW_VARS()]))")],
            max_depth=2,
            custom_tools={"mine": 1},
            **kwargs,
        ).completion("x").response  # fmt: skip

    assert answer() == "['mine']"
    assert answer(custom_sub_tools={}) == "[]"
    assert answer(custom_sub_tools={"yours": 2}) == "['yours']"


def test_callbacks_and_events_of_children_have_their_depth() -> None:
    calls: list[tuple] = []
    heard = Heard()
    scripted(
        [cell("final_answer(rlm_query('p' * 200))")],
        child_turns=ANSWER_CONTEXT,
        max_depth=2,
        on_subcall_start=lambda *a: calls.append(("start", *a)),
        on_subcall_complete=lambda *a: calls.append(("complete", *a[:2], a[3])),
        on_iteration_start=lambda *a: calls.append(("turn", *a)),
        on_iteration_complete=lambda depth, number, seconds: calls.append(("turned", depth, number)),
        on_event=heard,
    ).completion("x")
    assert calls == [
        ("turn", 0, 1),
        ("start", 1, "scripted", "p" * 80),
        ("turn", 1, 1),
        ("turned", 1, 1),
        ("complete", 1, "scripted", None),
        ("turned", 0, 1),
    ]
    assert heard.of(SubcallStarted)[0].depth == 1


def test_no_more_children_run_at_once_than_there_are_places_in_the_whole_tree() -> None:
    now, peak, lock = 0, 0, threading.Lock()

    def leaf(_: str) -> str:
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return "x"

    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['a'] * 6))")],
        leaf,
        child_turns=lambda messages: cell(
            "final_answer(rlm_query_batched(['b'] * 3) if context == 'a' else llm_query('q'))"
        ),
        max_depth=3,
        max_concurrent_subcalls=3,
    )
    rlm.completion("x")
    assert 1 < peak <= 3


@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_deep_tree_moves_on_with_any_number_of_places(width: int) -> None:
    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['1', '2', '3']))")],
        child_turns=lambda messages: cell(
            "final_answer(rlm_query_batched([context + 'a', context + 'b']) if len(context) < 3 else context)"
        ),
        max_depth=4,
        max_concurrent_subcalls=width,
    )
    assert "1aa" in rlm.completion("x").response


def test_sixteen_children_do_not_wait_for_each_other() -> None:
    together = threading.Barrier(16, timeout=30)

    def meet(_: str) -> str:
        together.wait()
        return "met"

    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['c'] * 16))")],
        meet,
        child_turns=[cell("final_answer(llm_query('q'))")],
        max_depth=2,
        max_concurrent_subcalls=16,
    )
    assert rlm.completion("x").response == str(["met"] * 16)


def test_model_calls_in_flight_are_bounded_by_the_policy() -> None:
    with OpenAIServer(reply="r", delay=0.05) as server:
        kwargs = {"api_key": "k", "model_name": "m", "base_url": server.base_url}
        rlm = scripted(
            [cell("final_answer(len(llm_query_batched(['q'] * 12)))")],
            policy=limited(concurrency=5),
            other_backends=["openai"],
            other_backend_kwargs=[kwargs],
        )
        assert rlm.completion("x").response == "12"
        plain = RLM(backend_kwargs=kwargs, policy=limited(concurrency=5), max_depth=0)
        assert [item.response for item in plain.batch(["q"] * 20, concurrency=20)] == ["r"] * 20
        assert 2 <= server.peak <= 5


def test_sixty_four_prompts_take_less_than_twice_the_ideal() -> None:
    """16 at a time, 50 ms each: 200 ms at best. The best of five, for the machine may be busy."""
    seconds = []
    for _ in range(5):
        rlm = scripted([cell("final_answer(len(llm_query_batched(['q'] * 64)))")], lambda p: time.sleep(0.05) or "r")
        began = time.monotonic()
        assert rlm.completion("x").response == "64"
        seconds.append(time.monotonic() - began)
    assert 0.2 <= min(seconds) < 0.4


def test_output_of_parallel_children_stays_apart() -> None:
    feedback: dict[str, str] = {}

    def child(messages) -> str:
        if len(messages) < 4:
            return cell("for _ in range(50):\n    print(f'<{context}>')")
        said = messages[-2]["content"]
        feedback[said[said.index("<") + 1]] = said
        return "FINAL(done)"

    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(x)"

    rlm = scripted(
        [cell("print('before')\nrlm_query_batched([str(n) for n in range(8)])\nprint('after')"), second],
        child_turns=child,
        max_depth=2,
        max_concurrent_subcalls=8,
    )
    rlm.completion("x")
    assert sorted(feedback) == [str(n) for n in range(8)]
    for name, said in feedback.items():
        assert said.count(f"<{name}>") == said.count("<") == 50
    assert "before\nafter\n" in seen[0]


def test_nothing_is_left_behind_by_a_tree() -> None:
    def processes() -> int:
        return len(psutil.Process().children(recursive=True))

    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['c'] * 8))")], child_turns=ANSWER_CONTEXT, max_depth=2,
        max_concurrent_subcalls=4,
    )  # fmt: skip
    rlm.completion("x")
    time.sleep(0.5)
    before, threads = processes(), threading.active_count()
    for _ in range(5):
        rlm.completion("x")
    deadline = time.monotonic() + 20  # a session's process ends beside the run
    while (processes() > before + 2 or threading.active_count() > threads + 1) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes() <= before + 2
    assert threading.active_count() <= threads + 1


# -- the shared ledger -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_tree_of_depth_three_makes_exactly_as_many_calls_as_it_may() -> None:
    """40 parallel calls, spread over three levels, under a limit of 10: 10 calls in each of 200 runs."""
    for _ in range(200):
        made, lock = 0, threading.Lock()

        def count(text: str):
            def play(_) -> str:
                nonlocal made
                with lock:
                    made += 1
                return text

            return play

        rlm = scripted(
            [count(cell("final_answer(llm_query_batched(['q'] * 20) + rlm_query_batched(['a', 'b']))"))],
            count("r"),
            child_turns=count(
                cell(
                    "if len(context) == 1:\n"
                    "    got = llm_query_batched(['q'] * 6) + rlm_query_batched([context * 2])\n"
                    "else:\n"
                    "    got = llm_query_batched(['q'] * 4)\n"
                    "final_answer(str(got))"
                )
            ),
            max_depth=3,
            policy=limited(calls=10),
        )
        assert rlm.completion("x").response
        assert made == 10


def test_parallel_calls_near_the_limit_wait_for_each_other() -> None:
    """40 prompts of 1,600 characters each way under 10,000 tokens: about ten run, the others are refused.

    Twelve fit by their first estimate, and each costs 150 more than that; one more crosses the limit.
    """
    rlm = scripted([cell("print(llm_query_batched(['q' * 1600] * 40))"), "never"], "r" * 1600, max_tokens=10_000)
    with pytest.raises(TokenLimitExceededError) as caught:
        rlm.completion("x")
    assert 10_000 < caught.value.tokens_used < 10_000 + 12 * 150 + 1000


def test_calls_beyond_the_limit_are_error_strings_and_then_the_exception() -> None:
    rlm = scripted([cell("print(llm_query_batched(['q'] * 5))"), "never"], "r", policy=limited(calls=3))
    with pytest.raises(CallLimitExceededError) as caught:
        rlm.completion("x")
    assert (caught.value.calls, caught.value.call_limit) == (3, 3)
    assert caught.value.partial_answer == cell("print(llm_query_batched(['q'] * 5))")


def test_a_child_that_finds_nothing_left_says_how_much_was_spent() -> None:
    def costly(messages):
        return cell("final_answer(rlm_query('q'))")

    rlm = scripted(costly, child_turns=ANSWER_CONTEXT, max_depth=2, max_tokens=1)
    assert rlm.completion("x").response.startswith("Error: Token limit exceeded: ")


def test_what_children_spend_ends_the_parents_run() -> None:
    rlm = scripted(
        [cell("print(rlm_query('q'))"), "never"],
        child_turns=[cell("final_answer(1)")],
        max_depth=2,
        max_tokens=3_000,
    )
    probe = scripted([cell("final_answer(1)")]).completion("x").usage_summary
    assert probe.total_input_tokens + probe.total_output_tokens < 3_000
    with pytest.raises(Exception, match="Token limit exceeded") as caught:
        rlm.completion("x")
    assert caught.value.partial_answer


def test_an_exhausted_budget_refuses_a_child_in_upstreams_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlm_secure.clients import scripted as backend
    from rlm_secure.clients.base import call_usage as plain

    monkeypatch.setattr(backend, "call_usage", lambda i, o: plain(i, o, 0.5))
    rlm = scripted([cell("print(rlm_query('q'))"), "never"], child_turns=["never"], max_depth=2, max_budget=0.5)
    with pytest.raises(BudgetExceededError) as caught:
        rlm.completion("x")
    assert (caught.value.spent, caught.value.budget) == (0.5, 0.5)


def test_the_cost_of_a_child_is_added_once_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlm_secure.clients import scripted as backend
    from rlm_secure.clients.base import call_usage as plain

    monkeypatch.setattr(backend, "call_usage", lambda i, o: plain(i, o, 0.25))
    rlm = scripted(
        [cell("rlm_query('q')"), cell("print(1)"), "FINAL(x)"], child_turns=[cell("final_answer(1)")], max_depth=2
    )
    completion = rlm.completion("x")
    assert completion.usage_summary.total_cost == 1.0
    assert rlm._cumulative_cost == 1.0


# -- places ----------------------------------------------------------------------------------------------


def test_the_first_failure_of_a_map_is_raised_after_what_had_begun() -> None:
    done: list[int] = []

    def work(n: int) -> int:
        if n == 2:
            raise ValueError(n)
        time.sleep(0.01)
        done.append(n)
        return n

    with pytest.raises(ValueError, match="2"):
        ChildSlots(3).map(work, range(50))
    assert len(done) < 50


def test_an_interrupt_of_the_calling_thread_is_raised_at_once() -> None:
    release = threading.Event()

    def work(n: int) -> None:
        if n == 0:
            raise KeyboardInterrupt
        release.wait(10)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ChildSlots(4).map(work, range(4))
    assert time.monotonic() - began < 5
    release.set()


def test_a_map_of_nothing_is_nothing() -> None:
    assert ChildSlots(4).map(lambda x: x, []) == []


def test_where_no_thread_can_be_started_the_caller_does_all_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    slots: ChildSlots = ChildSlots(4)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert slots.map(lambda number: number + 1, [1, 2, 3]) == [2, 3, 4]
    assert not slots.busy
    slots.join(1.0)


def test_completions_do_not_share_a_ledger() -> None:
    rlm = scripted(lambda messages: "FINAL(x)", policy=limited(calls=1))
    assert [rlm.completion("a").response, rlm.completion("b").response] == ["x", "x"]


def test_a_helper_that_does_not_end_is_left_behind_when_the_time_is_long_over() -> None:
    released, over = threading.Event(), threading.Event()

    def work(item: int) -> int:
        if threading.current_thread().name == "rlm-secure-child":
            over.set()
            released.wait(60)
        else:
            over.wait(10)
        return item

    try:
        with pytest.raises(CancellationError, match="did not end with its run"):
            ChildSlots(2, over.is_set).map(work, [1, 2])
    finally:
        released.set()
