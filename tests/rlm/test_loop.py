"""The turn, the three ways to finish, and upstream's constructor: real cells in the local environment."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from types import FrameType
from typing import Any
from unittest.mock import Mock

import pytest

from rlm_secure.clients.base import BaseLM
from rlm_secure.clients.scripted import ScriptedClient
from rlm_secure.errors import PolicyError, ProviderError, Refused
from rlm_secure.events import CellStarted, Noticed
from rlm_secure.logger import RLMLogger
from rlm_secure.rlm import loops
from rlm_secure.rlm import rlm as loop
from rlm_secure.rlm.prompts import PromptSet
from rlm_secure.rlm.rlm import RLM
from rlm_secure.types import ModelUsageSummary, RLMChatCompletion, RLMIteration, UsageSummary
from tests.loops import Heard, cell, limited, scripted

UPSTREAM = [
    ("backend", "openai"),
    ("backend_kwargs", None),
    ("environment", "local"),
    ("environment_kwargs", None),
    ("depth", 0),
    ("max_depth", 1),
    ("max_iterations", 30),
    ("max_budget", None),
    ("max_timeout", None),
    ("max_tokens", None),
    ("max_errors", None),
    ("custom_system_prompt", None),
    ("other_backends", None),
    ("other_backend_kwargs", None),
    ("logger", None),
    ("verbose", False),
    ("persistent", False),
    ("custom_tools", None),
    ("custom_sub_tools", None),
    ("compaction", False),
    ("compaction_threshold_pct", 0.85),
    ("max_concurrent_subcalls", 4),
    ("on_subcall_start", None),
    ("on_subcall_complete", None),
    ("on_iteration_start", None),
    ("on_iteration_complete", None),
    ("sampling_args", None),
    ("sub_sampling_args", None),
    ("orchestrator", True),
    ("user_prologue", None),
]


def test_the_first_thirty_parameters_are_upstreams() -> None:
    parameters = [p for p in inspect.signature(RLM).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert [(p.name, p.default) for p in parameters] == UPSTREAM


def test_our_own_parameters_are_keyword_only_and_strict_is_the_default() -> None:
    ours = {p.name: p.default for p in inspect.signature(RLM).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert ours["policy"] == "strict"
    assert {"on_event", "answer_schema", "prompt_set", "describe_session"} <= set(ours)


def test_the_constructor_builds_no_client_and_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("called")

    monkeypatch.setattr(loop, "get_client", never)
    monkeypatch.setattr(loop, "get_environment", never)
    rlm = RLM(backend="no such backend", environment="no such environment")
    assert (rlm.backend, rlm.environment_type, rlm.depth, rlm.max_depth) == (
        "no such backend", "no such environment", 0, 1,
    )  # fmt: skip


def test_an_unknown_backend_or_environment_is_a_value_error_of_the_completion() -> None:
    with pytest.raises(ValueError, match="Unknown backend: nope"):
        RLM(backend="nope").completion("x")
    with pytest.raises(ValueError, match="nope"):
        scripted(["FINAL(x)"], environment="nope").completion("x")


def test_a_bad_policy_is_an_error_of_the_constructor() -> None:
    with pytest.raises(PolicyError):
        RLM(policy={"extends": "strict", "no_such_section": {}})


def test_the_callers_dicts_are_never_changed() -> None:
    kwargs = {"turns": ["FINAL(1)"], "sampling_args": {"temperature": 1}}
    environment = {"setup_code": "k = 1"}
    tools = {"t": {"tool": 5, "description": "five"}}
    RLM(
        backend="scripted", backend_kwargs=kwargs, environment_kwargs=environment, custom_tools=tools,
        sampling_args={"top_p": 0.5}, sub_sampling_args={"top_p": 0.1},
    ).completion("x")  # fmt: skip
    assert kwargs == {"turns": ["FINAL(1)"], "sampling_args": {"temperature": 1}}
    assert environment == {"setup_code": "k = 1"}
    assert tools == {"t": {"tool": 5, "description": "five"}}


def test_sampling_arguments_are_merged_as_upstream_does() -> None:
    rlm = RLM(backend_kwargs={"sampling_args": {"a": 1, "b": 1}}, sampling_args={"b": 2}, sub_sampling_args={"c": 3})
    assert rlm.backend_kwargs == {"sampling_args": {"a": 1, "b": 2}}
    assert rlm.other_backends == ["openai"]
    assert rlm.other_backend_kwargs == [{"sampling_args": {"a": 1, "b": 2, "c": 3}}]


def test_more_than_one_other_backend_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="We currently only support one additional backend"):
        RLM(other_backends=["openai", "anthropic"], other_backend_kwargs=[{}, {}])


# -- the three ways to finish ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (["FINAL(42)"], "42"),
        (['thinking\n  FINAL("hello")\nmore'], '"hello"'),
        (["FINAL(f(x) and (y))"], "f(x) and (y)"),
        ([cell("result = 6 * 7") + "\nFINAL_VAR(result)"], "42"),
        ([cell("result = 6 * 7"), "FINAL(not this)\nFINAL_VAR('result')"], "42"),
        ([cell("answer['content'] = 'a'; answer['ready'] = True")], "a"),
        ([cell("answer['ready'] = True; answer['content'] = 'late'")], "late"),
        ([cell("answer.update(content='u', ready=True)")], "u"),
        ([cell("answer |= {'content': 'or', 'ready': True}")], "or"),
        ([cell("answer = {'content': 'new dict', 'ready': True}")], "new dict"),
        ([cell("answer['content'] = 'kept'"), cell("answer['ready'] = True")], "kept"),
        ([cell("final_answer(7)")], "7"),
        ([cell("final_answer('')")], ""),
        ([cell("answer['ready'] = True")], ""),
        ([cell("try:\n    final_answer('x')\nexcept Exception:\n    print('swallowed')")], "x"),
    ],
)
def test_every_way_to_finish(turns: list[str], answer: str) -> None:
    completion = scripted(turns).completion("the context")
    assert isinstance(completion, RLMChatCompletion)
    assert completion.response == answer


@pytest.mark.parametrize(
    "reply",
    [
        "I will use FINAL(x) later",
        "```\nFINAL(in a fence)\n```",
        cell("text = 'FINAL(in a cell)'"),
        "FINAL(unbalanced",
        "nothing at all",
        "",
    ],
)
def test_what_is_no_final_answer(reply: str) -> None:
    assert scripted([reply, "FINAL(the second turn)"]).completion("c").response == "the second turn"


def test_an_unknown_variable_is_told_to_the_model_and_is_no_answer() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(done)"

    completion = scripted([cell("known = 1") + "\nFINAL_VAR(unknown)", second]).completion("c")
    assert completion.response == "done"
    assert "unknown" in seen[0]
    assert "known" in seen[0]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("large = 'x' * 9_000_000", "larger than the policy's limits.result_bytes of 8388608"),
        ("class Mute:\n    def __str__(self):\n        raise ValueError('no text')\nlarge = Mute()", "ValueError: no text"),
    ],
)
def test_a_variable_whose_text_cannot_be_read_is_not_unknown(code: str, reason: str) -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(done)"

    assert scripted([cell(code), "FINAL_VAR(large)", second]).completion("c").response == "done"
    assert "the text of large cannot be read: " in seen[0] and reason in seen[0]


PYTHON = "Let me see.\n\n```python\nseen = len(context)\nprint('ran', seen)\n```\n"


@pytest.mark.parametrize("prompts", ["ours", "final"])
def test_a_reply_with_one_python_block_is_run(prompts: str) -> None:
    told: list[str] = []

    def second(messages) -> str:
        told.extend(each["content"] for each in messages[-2:])
        return "FINAL_VAR(seen)"

    assert scripted([PYTHON, second], prompt_set=prompts).completion("four").response == "4"
    assert "ran 4" in told[0]
    assert "Nothing" not in "".join(told)


def test_a_set_may_run_marked_blocks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PromptSet, "runs_unmarked", False)
    heard = Heard()
    scripted([PYTHON, "FINAL(done)"], on_event=heard).completion("four")
    assert heard.of(CellStarted) == []


def test_a_block_that_a_final_answer_quotes_is_not_run() -> None:
    heard = Heard()
    completion = scripted([PYTHON + "FINAL(it prints 4)"], on_event=heard).completion("four")
    assert completion.response == "it prints 4"
    assert heard.of(CellStarted) == []


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (PYTHON + PYTHON, "none of its 2 blocks is marked `repl`"),
        ("```repl\nprint(1)", "it ends inside a block"),
        ("The answer is 4.", "it has no block of code"),
    ],
)
def test_a_reply_of_which_nothing_was_run_is_told_so_at_once(reply: str, told: str) -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(done)"

    heard = Heard()
    scripted([reply, second], on_event=heard).completion("c")
    assert heard.of(CellStarted) == []
    assert told in seen[0]
    assert "```repl" in seen[0]
    assert "`final_answer(...)`" in seen[0]


def test_a_rejected_answer_beside_a_block_is_told_of_both() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.extend(each["content"] for each in messages[-3:-1])
        return "FINAL(done)"

    scripted([PYTHON + "FINAL_VAR(seen)", second]).completion("c")
    assert "there is no such variable" in seen[0]
    assert "its block is marked `python`" in seen[1]


def test_an_answer_whose_end_is_unclear_is_asked_for_again() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(Steps: 1) do a 2) do b)"

    assert scripted(["FINAL(Steps: 1) do a\n2) do b)", second]).completion("c").response == "Steps: 1) do a 2) do b"
    assert "was not accepted: words follow" in seen[0]


def test_an_answer_whose_end_is_unclear_is_whole_when_the_turns_are_used_up() -> None:
    text = "FINAL(Steps: 1) do a\n2) do b)"
    assert scripted(["thinking", text], max_iterations=1).completion("c").response == text


def test_cells_after_the_one_that_answered_do_not_run() -> None:
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return "x"

    scripted([cell("final_answer(1)") + "\n" + cell("llm_query('never')")], reply).completion("c")
    assert asked == []


def test_the_answer_of_a_cell_goes_before_the_answer_of_the_text() -> None:
    assert scripted([cell("final_answer('cell')") + "\nFINAL(text)"]).completion("c").response == "cell"


@pytest.mark.parametrize(
    ("turns", "last", "notice"),
    [
        (["a", "b"], "It is 4.", "the run's turns are used up, and in the last 2 of them nothing was run"),
        ([cell("x = 4"), "b"], "FINAL(4)", "the run's turns are used up, and in the last of them nothing was run"),
        (["a", cell("x = 4")], "It is 4.", None),
        ([cell("x = 4"), "b"], "FINAL_VAR(x)", None),
    ],
)
def test_a_plain_answer_after_turns_in_which_nothing_ran_says_so(turns: list[str], last: str, notice: str | None) -> None:
    heard = Heard()
    completion = scripted([*turns, last], max_iterations=2, on_event=heard).completion("c")
    told = [] if notice is None else [("nothing-ran", f"the answer is plain text: {notice}")]
    assert [(each.kind, each.message) for each in completion.notices] == told
    assert [(each.depth, each.kind, each.message) for each in heard.of(Noticed)] == [(0, *each) for each in told]


def test_an_answer_with_code_that_nobody_ran_says_so() -> None:
    (notice,) = scripted([cell("x = 4"), cell("final_answer(x)")], max_iterations=1).completion("c").notices
    assert (notice.kind, notice.message) == ("nothing-ran", "the answer has code that was not run: the run's turns are used up")


def test_a_plain_answer_of_a_child_is_told_with_its_depth() -> None:
    heard = Heard()
    turns = [cell("rlm_query('q')"), "FINAL(done)"]
    rlm = scripted(turns, child_turns=["a", "b", "4"], max_depth=2, max_iterations=2, on_event=heard)
    (notice,) = rlm.completion("c").notices
    assert "the turns of a run at depth 1 are used up" in notice.message
    assert [each.depth for each in heard.of(Noticed)] == [1]


def test_turns_used_up_end_with_the_default_answer() -> None:
    asked: list[list[dict]] = []

    def default(messages) -> str:
        asked.append(messages)
        return "my best guess"

    completion = scripted([cell("x = 1"), cell("x = 2"), default], max_iterations=2).completion("c")
    assert completion.response == "my best guess"
    assert completion.usage_summary.model_usage_summaries["scripted"].total_calls == 3
    assert [message["role"] for message in asked[0]][-1] == "user"


@pytest.mark.parametrize(
    ("default", "answer"),
    [
        ("FINAL(in the words of a turn)", "in the words of a turn"),
        ("FINAL_VAR(kept)", "5"),
        ("FINAL_VAR(no)", "FINAL_VAR(no)"),
    ],
)
def test_a_default_answer_may_be_given_in_the_words_of_a_turn(default: str, answer: str) -> None:
    assert scripted([cell("kept = 5"), default], max_iterations=1).completion("c").response == answer


# -- the turn --------------------------------------------------------------------------------------------


def test_the_messages_only_grow_so_that_a_prefix_can_be_cached() -> None:
    prompts: list[list[dict]] = []

    def turn(reply: str):
        def play(messages) -> str:
            prompts.append(messages)
            return reply

        return play

    scripted([turn(cell("print(1)")), turn("no cell"), turn("FINAL(x)")]).completion("c", "the question")
    assert [message["role"] for message in prompts[0]] == ["system", "user", "user"]
    for earlier, later in zip(prompts, prompts[1:], strict=False):
        assert later[: len(earlier)] == earlier
    assert "the question" in prompts[0][1]["content"]
    assert prompts[1][3] == {"role": "assistant", "content": cell("print(1)")}
    assert prompts[1][4]["content"].startswith("REPL output:\n\n1")


def test_several_cells_are_answered_in_one_message() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(x)"

    scripted([cell("print('one')") + cell("print('two')"), second]).completion("c")
    assert "REPL output (block 1):\n\none" in seen[0]
    assert "REPL output (block 2):\n\ntwo" in seen[0]


def test_state_lasts_from_cell_to_cell_and_survives_an_exception() -> None:
    turns = [cell("a = 1\nb = 2\n1/0"), cell("print(a + b)\nfinal_answer(a + b)")]
    assert scripted(turns).completion("c").response == "3"


@pytest.mark.parametrize(
    "context",
    [
        "CR\r\nLF\rNUL\0end \ud800 \U0001f600",
        ["one", "two"],
        {"k": [1, None, True]},
        [],
        "",
        [{"role": "user", "content": "hi"}],
    ],
)
def test_the_context_arrives_as_it_is(context) -> None:
    tools = {"expected": context} if context != "CR\r\nLF\rNUL\0end \ud800 \U0001f600" else {}
    code = "final_answer(str(context == expected))" if tools else "final_answer(ascii(context))"
    answer = scripted([cell(code)], custom_tools=tools).completion(context).response
    assert answer == ("True" if tools else ascii(context))


@pytest.mark.parametrize("context", [None, 5, b"bytes", 1.5, {1, 2}])
def test_a_context_of_another_type_is_refused(context) -> None:
    with pytest.raises((ValueError, TypeError)):
        scripted(["FINAL(x)"]).completion(context)


def test_a_list_of_numbers_is_a_context() -> None:
    assert scripted([cell("final_answer(sum(context))")]).completion([1, 2, 3]).response == "6"


def test_braces_in_every_prompt_are_text() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.extend(message["content"] for message in messages)
        return "FINAL({ok})"

    rlm = scripted([turn], custom_system_prompt='Use {"json": {}} and {0} {name', user_prologue="{also} {here")
    assert rlm.completion("{context}", "{question} {").response == "{ok}"
    assert '{"json": {}} and {0} {name' in seen[0]
    assert any("{question} {" in text for text in seen)
    assert "{also} {here" in seen


def test_the_prologue_comes_after_the_metadata() -> None:
    seen: list[dict] = []

    def turn(messages) -> str:
        seen.extend(messages)
        return "FINAL(x)"

    scripted([turn], user_prologue="look at the dates first").completion("c")
    assert seen[2] == {"role": "user", "content": "look at the dates first"}


def test_a_loop_without_a_system_prompt_of_its_own_describes_the_session_once() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[0]["content"])
        return "FINAL(x)"

    scripted([turn]).completion("c")
    scripted([turn], describe_session=False).completion("c")
    assert "# The sandbox" in seen[0]
    assert "# The sandbox" not in seen[1]


# -- depth -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "max_depth"), [(0, 0), (1, 1), (2, 1)])
def test_at_the_greatest_depth_a_plain_model_answers_with_a_completion(depth: int, max_depth: int) -> None:
    completion = scripted(None, lambda prompt: f"plain: {prompt}", depth=depth, max_depth=max_depth).completion("hello")
    assert isinstance(completion, RLMChatCompletion)
    assert (completion.response, completion.prompt) == ("plain: hello", "hello")
    assert completion.usage_summary.model_usage_summaries["scripted"].total_calls == 1


def test_a_plain_model_is_given_the_question_and_any_kind_of_context() -> None:
    rlm = scripted(lambda messages: messages[-1]["content"], lambda prompt: prompt, max_depth=0)
    assert rlm.completion("text", "why?").response == "why?\n\ntext"
    assert rlm.completion({"a": [1]}).response == '{"a": [1]}'
    assert rlm.completion(["a", "b"]).response == '["a", "b"]'
    assert rlm.completion([{"role": "user", "content": "chat"}]).response == "chat"
    assert rlm.completion([{"role": "user", "content": "chat"}], "why?").response == "why?"


def test_a_depth_beyond_the_policy_is_refused() -> None:
    with pytest.raises(Refused, match=r"lm\.depth"):
        scripted(["FINAL(x)"], max_depth=9, policy=limited(depth=2)).completion("c")


# -- reuse -----------------------------------------------------------------------------------------------


def test_an_rlm_can_be_used_again_and_by_several_threads() -> None:
    rlm = scripted(lambda messages: cell("final_answer(context)"))
    answers: dict[str, str] = {}

    def complete(text: str) -> None:
        answers[text] = rlm.completion(text).response

    threads = [threading.Thread(target=complete, args=(f"context {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {f"context {n}": f"context {n}" for n in range(8)}


def test_completions_of_one_event_loop_run_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=20)

    def reply(_: str) -> str:
        together.wait()
        return "x"

    async def several() -> list[str]:
        async with scripted(lambda messages: cell("final_answer(llm_query('q'))"), reply) as rlm:
            done = await asyncio.gather(*(rlm.acompletion(f"c{n}") for n in range(4)))
        return [completion.response for completion in done]

    assert asyncio.run(several()) == ["x"] * 4


def test_it_is_a_context_manager_and_closing_twice_is_fine() -> None:
    with scripted(["FINAL(x)"]) as rlm:
        assert rlm.completion("c").response == "x"
        rlm.close()
    rlm.close()


def test_it_can_be_called_from_inside_a_running_event_loop() -> None:
    async def inside() -> str:
        return scripted([cell("final_answer(llm_query('q'))")], "r").completion("c").response

    assert asyncio.run(inside()) == "r"


# -- who answers -----------------------------------------------------------------------------------------


def test_get_client_and_get_environment_are_found_where_users_patch_them(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple] = []
    real_client, real_environment = loop.get_client, loop.get_environment
    monkeypatch.setattr(loop, "get_client", lambda *a: calls.append(("client", a)) or real_client(*a))
    monkeypatch.setattr(loop, "get_environment", lambda *a: calls.append(("environment", a)) or real_environment(*a))
    scripted(["FINAL(x)"], environment_kwargs={"setup_code": "k = 1"}).completion("c")
    assert [(kind, arguments[0]) for kind, arguments in calls] == [("client", "scripted"), ("environment", "local")]
    options = calls[1][1][1]
    assert {"policy", "calls", "context_payload", "setup_code", "persistent", "depth", "custom_tools"} <= set(options)
    assert (options["context_payload"], options["depth"], options["setup_code"]) == ("c", 1, "k = 1")


def test_the_roots_sub_calls_go_to_the_other_backend() -> None:
    rlm = scripted(
        [cell("final_answer([llm_query('q'), llm_query('q', model='other'), llm_query('q', model='root')])")],
        "from the root's backend",
        backend_kwargs={"model_name": "root"},
        other_backends=["scripted"],
        other_backend_kwargs=[{"replies": "from the other", "model_name": "other"}],
    )
    completion = rlm.completion("c")
    assert completion.response == str(["from the other", "from the other", "from the root's backend"])
    calls = {name: usage.total_calls for name, usage in completion.usage_summary.model_usage_summaries.items()}
    assert calls == {"root": 2, "other": 2}


def test_a_cell_may_name_only_models_of_the_run_and_of_the_policy() -> None:
    code = "final_answer([llm_query('q', model=name) for name in ('mine', 'allowed', 'forbidden')])"
    rlm = scripted(
        [cell(code)], lambda _: "ok", backend_kwargs={"model_name": "mine"}, policy=limited(models=("allowed",))
    )
    completion = rlm.completion("c")
    assert completion.response.startswith("['ok', 'ok', \"Error: the model 'forbidden'")
    calls = {name: usage.total_calls for name, usage in completion.usage_summary.model_usage_summaries.items()}
    assert calls == {"mine": 2, "allowed": 1}


def test_a_failing_provider_of_the_run_itself_is_the_callers_exception() -> None:
    with pytest.raises(ProviderError, match="turns"):
        scripted([]).completion("c")


def test_a_failing_sub_call_is_an_error_string_in_the_cell() -> None:
    def broken(_: str) -> str:
        raise RuntimeError("host secret: /etc/keys")

    rlm = scripted([cell("final_answer([llm_query('a'), *llm_query_batched(['b'])])")], broken)
    assert rlm.completion("c").response == str(
        ["Error: LM query failed - RuntimeError", "Error: llm() call failed - RuntimeError"]
    )


def test_one_failing_prompt_does_not_spoil_its_batch() -> None:
    def reply(prompt: str) -> str:
        if prompt == "2":
            raise RuntimeError
        return f"r{prompt}"

    rlm = scripted([cell("final_answer(llm_query_batched([str(n) for n in range(4)]))")], reply)
    assert rlm.completion("c").response == str(["r0", "r1", "Error: llm() call failed - RuntimeError", "r3"])


def test_a_prompt_or_batch_over_the_policys_size_is_refused_before_the_call() -> None:
    code = "final_answer([llm_query('x' * 2000), *llm_query_batched(['q'] * 3)])"
    asked: list[str] = []
    rlm = scripted([cell(code)], lambda p: asked.append(p) or "r", policy=limited(prompt_bytes=1000, batch=2))
    response = rlm.completion("c").response
    assert response.count("Error: ") == 4
    assert "lm.prompt_bytes" in response and "lm.batch" in response
    assert asked == []


def test_a_reply_over_the_policys_size_does_not_enter_the_sandbox() -> None:
    rlm = scripted([cell("final_answer(llm_query('q'))")], "x" * 5000, policy=limited(reply_bytes=1000))
    assert "lm.reply_bytes" in rlm.completion("c").response


def test_cell_errors_are_told_and_the_run_goes_on() -> None:
    seen: list[str] = []

    def second(messages) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(went on)"

    assert scripted([cell("import socket"), second]).completion("c").response == "went on"
    assert "socket" in seen[0]


def test_upstreams_private_subcall_still_answers() -> None:
    leaf = scripted(None, lambda prompt: f"plain {prompt}")
    assert leaf._subcall("q").response == "plain q"
    child = scripted(None, None, child_turns=None, max_depth=2)._subcall("q")
    assert child.error is not None and child.response.startswith("Error: Child RLM completion failed - ")


def test_attributes_that_programs_look_at_are_there() -> None:
    rlm = scripted([cell("1/0"), "FINAL(x)"], backend_kwargs={"model_name": "m"}, max_tokens=10**6)
    rlm.completion("c")
    assert (rlm.backend, rlm.environment_type, rlm.max_tokens, rlm.persistent) == ("scripted", "local", 10**6, False)
    assert (rlm._consecutive_errors, rlm._best_partial_answer, rlm._cumulative_cost) == (0, "FINAL(x)", 0.0)
    assert rlm._last_error is not None and "ZeroDivisionError" in rlm._last_error
    assert rlm._persistent_env is None


def test_an_environment_that_does_not_start_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(loop, "get_environment", broken)
    before = set(threading.enumerate())  # one of an earlier session may end meanwhile
    with pytest.raises(OSError, match="no room"):
        scripted(["FINAL(x)"]).completion("c")
    # Not counted: threads of the idle scheduler, which may begin at any moment for what an earlier test left ready.
    assert {thread for thread in threading.enumerate() if thread.name != "rlm_secure-idle-work"} <= before


def test_mocks_in_the_place_of_clients_work_as_they_do_with_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    mock = Mock()
    mock.completion.side_effect = [cell("x = llm_query('q')\nprint(x)"), "sub reply", "FINAL(done)"]
    mock.get_usage_summary.return_value = UsageSummary({"mock": ModelUsageSummary(3, 30, 3)})
    monkeypatch.setattr(loop, "get_client", lambda *_: mock)
    completion = RLM(backend_kwargs={"model_name": "mock"}).completion("c", "question")
    assert (completion.response, completion.root_model) == ("done", "mock")
    assert mock.completion.call_count == 3
    assert completion.usage_summary.model_usage_summaries["mock"].total_input_tokens == 30
    first, second, third = (call.args[0] for call in mock.completion.call_args_list)
    assert (len(first), second, len(third)) == (3, "q", 6)


# -- the conversation is the run's own --------------------------------------------------------------------


def spoil(messages: Any) -> list[dict[str, Any]]:
    """A copy of the messages, which are then changed in every way that a list has."""
    kept = [dict(each) for each in messages]
    messages[0]["content"] = "spoiled"
    messages[-1].clear()
    messages.pop(0)
    messages.append({"role": "user", "content": "mine"})
    return kept


class Spoiling(BaseLM):
    """Upstream's four methods, with which somebody changes the messages."""

    def __init__(self, lines: list[str], seen: list[Any]) -> None:
        super().__init__("spoiling")
        self.lines, self.seen = lines, seen

    def completion(self, prompt: Any) -> str:
        self.seen.append(spoil(prompt))
        return self.lines.pop(0)

    async def acompletion(self, prompt: Any) -> str:
        return self.completion(prompt)

    def get_usage_summary(self) -> UsageSummary:
        return UsageSummary({"spoiling": self.get_last_usage()})

    def get_last_usage(self) -> ModelUsageSummary:
        return ModelUsageSummary(1, 1, 1)


class Overriding(ScriptedClient):
    """A client of ours with a method of somebody's, which changes the messages."""

    def __init__(self, lines: list[str], seen: list[Any]) -> None:
        super().__init__(lines)
        self.seen = seen

    @functools.wraps(ScriptedClient.acomplete)
    async def acomplete(self, prompt: Any, **given: Any) -> Any:
        self.seen.append(spoil(prompt))
        return await super().acomplete([{"role": "user", "content": "q"}], **given)


def in_a_script(lines: list[str], seen: list[Any]) -> Any:
    def answer(messages: list[dict[str, Any]]) -> str:
        seen.append(spoil(messages))
        return lines.pop(0)

    return ScriptedClient(answer)


@pytest.mark.parametrize("make", [Spoiling, Overriding, in_a_script])
def test_a_client_that_changes_what_it_is_given_changes_nothing_else(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[dict[str, Any]]] = []
    client = make(["one", cell("print(2)"), "FINAL(x)"], seen)
    monkeypatch.setattr(loop, "get_client", lambda *_: client)
    logger = RLMLogger()
    assert RLM(backend_kwargs={"model_name": client.model_name}, logger=logger).completion("c").response == "x"
    assert [len(each) for each in seen] == [3, 6, 9]
    for earlier, later in zip(seen, seen[1:], strict=False):
        assert later[: len(earlier)] == earlier
    assert [each["prompt"] for each in logger.get_trajectory()["iterations"]] == seen


class Changing(RLMLogger):
    """A logger that hides a part of every prompt, and keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []

    def log(self, iteration: RLMIteration) -> None:
        assert isinstance(iteration.prompt, list)
        self.given.append(spoil(iteration.prompt))
        super().log(iteration)


def test_a_logger_that_changes_what_it_is_given_changes_the_log_alone() -> None:
    seen: list[list[dict[str, Any]]] = []
    logger = Changing()

    def answer(reply: str) -> Any:
        return lambda messages: seen.append(messages) or reply

    scripted([answer("one"), answer("two"), answer("FINAL(x)")], logger=logger).completion("c")
    assert logger.given == seen
    assert [each["prompt"][-1]["content"] for each in logger.get_trajectory()["iterations"]] == ["mine"] * 3


def calls_of(turns: int, compaction: bool) -> float:
    """Calls of Python functions for each of so many turns, of every thread of the run."""
    count = 0

    def counted(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    loops._end_all()
    rlm = scripted(["a thought " * 60] * 2 * turns, max_iterations=turns, logger=RLMLogger(), compaction=compaction)
    threading.setprofile(counted)
    sys.setprofile(counted)
    try:
        rlm.completion("c")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        loops._end_all()
    return count / turns


@pytest.mark.parametrize("compaction", [False, True])
def test_a_turn_costs_the_same_however_long_the_run_is(compaction: bool) -> None:
    calls_of(5, compaction)
    assert calls_of(100, compaction) < 1.1 * calls_of(25, compaction)
