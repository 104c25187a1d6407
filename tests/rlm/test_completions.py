"""What lasts between completions, what is cut out of one, what is logged, heard and demanded of an answer."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from rlm_secure import events as kinds
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.errors import AnswerInvalidError, BudgetExceededError, ErrorThresholdExceededError, Refused
from rlm_secure.logger import RLMLogger, read_trajectory
from rlm_secure.rlm.batch import Item
from rlm_secure.rlm.rlm import RLM
from tests.loops import Heard, cell, limited, scripted

# -- persistence -----------------------------------------------------------------------------------------


def persistent(turns, replies=None, **kwargs) -> RLM:
    return scripted(turns, replies, persistent=True, **kwargs)


def test_variables_contexts_and_histories_last_between_completions() -> None:
    programs = iter(
        [
            cell("kept = [1]\nfinal_answer('first')"),
            cell("kept.append(2)\nfinal_answer([kept, context, context_0, context_1, len(history), len(history_0)])"),
            cell("final_answer([context_2, len(history_1), history_1[-1]['content'][-9:], history is history_0])"),
        ]
    )
    with persistent(lambda messages: next(programs)) as rlm:
        assert rlm.completion("one").response == "first"
        assert rlm.completion("two").response == str([[1, 2], "one", "one", "two", 5, 5])
        third = rlm.completion({"three": 3}).response
    assert third.startswith(str([{"three": 3}, 5])[:-1])
    assert third.endswith("True]")


def test_the_history_holds_the_final_turn_and_is_a_copy() -> None:
    programs = iter(
        [
            cell("final_answer('the answer')"),
            cell("history[0]['content'] = 'changed'\nfinal_answer(history_0[-2]['content'])"),
        ]
    )
    with persistent(lambda messages: next(programs)) as rlm:
        rlm.completion("one")
        assert "final_answer('the answer')" in rlm.completion("two").response


def test_the_handler_of_a_persistent_session_is_that_of_the_running_completion() -> None:
    with persistent(lambda messages: cell("final_answer(llm_query('q'))"), lambda prompt: "r") as rlm:
        first, second = rlm.completion("a"), rlm.completion("b")
    for completion in (first, second):
        assert completion.usage_summary.model_usage_summaries["scripted"].total_calls == 2


def test_the_model_is_told_of_several_contexts() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[-1]["content"])
        return "FINAL(x)"

    with persistent(turn) as rlm:
        rlm.completion("a")
        rlm.completion("b")
    assert "context_1" not in seen[0]
    assert "context_1" in seen[1]


def test_an_old_answer_is_not_the_next_completions() -> None:
    programs = iter(
        [cell("answer['content'] = 'old'; answer['ready'] = True"), cell("x = 1"), cell("final_answer('new')")]
    )
    with persistent(lambda messages: next(programs)) as rlm:
        assert [rlm.completion("a").response, rlm.completion("b").response] == ["old", "new"]


def test_without_persistence_nothing_lasts() -> None:
    programs = iter([cell("kept = 1\nfinal_answer('x')"), cell("final_answer('kept' in SHOW_VARS())")])
    rlm = scripted(lambda messages: next(programs))
    rlm.completion("a")
    assert rlm.completion("b").response == "False"


def test_threads_of_a_persistent_rlm_take_turns() -> None:
    with persistent(lambda messages: cell("final_answer(context_0)")) as rlm:
        threads = [threading.Thread(target=rlm.completion, args=(f"c{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rlm._persistent_env.get_context_count() == 4
        assert rlm._persistent_env.get_history_count() == 4


@pytest.mark.parametrize("chosen", ["threads", "ray"])  # the containers of tests/docker have an `engine`
def test_a_batch_in_one_persistent_session_is_refused_and_one_in_sessions_of_their_own_is_not(chosen: str) -> None:
    with persistent(lambda messages: cell("final_answer(context)")) as rlm:
        with pytest.raises(ValueError, match="find each other's contexts; use rlm.changed"):
            rlm.batch(["a", "b"], engine=chosen)
        with pytest.raises(ValueError, match="would share one persistent session"):
            list(rlm.batch_as_completed(["a", "b"], engine=chosen))
        assert rlm._persistent_env is None
        assert [item.response for item in rlm.changed(persistent=False).batch(["a", "b"])] == ["a", "b"]


def test_a_further_question_needs_no_new_context() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[1]["content"])
        return cell("final_answer(f'{len(context)} {\"context_1\" in SHOW_VARS()}')")

    with persistent(turn) as rlm:
        assert rlm.completion("x" * 70, root_prompt="first").response == "70 False"
        again = rlm.completion(None, root_prompt="second")
        assert (again.response, again.prompt) == ("70 False", "x" * 70)
        assert "second" in seen[1] and "70 characters" in seen[1]
        rlm._persistent_env.session.close()  # lost: it is replaced, and has the context again
        assert rlm.completion(None, root_prompt="third").response == "70 False"
        rlm.close()
        with pytest.raises(ValueError, match="Invalid prompt type"):
            rlm.completion(None)
    with pytest.raises(ValueError, match="Invalid prompt type"):
        persistent(turn).completion(None)


def test_closing_ends_the_persistent_session_and_the_next_completion_starts_anew() -> None:
    rlm = persistent(lambda messages: cell("final_answer(context)"))
    rlm.completion("a")
    environment = rlm._persistent_env
    rlm.close()
    assert rlm._persistent_env is None
    assert not environment.session.alive
    assert rlm.completion("b").response == "b"
    rlm.close()


def test_a_persistent_session_that_was_lost_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with persistent(lambda messages: cell("final_answer(context)")) as rlm:
        rlm.completion("a")
        rlm._persistent_env.session.close()
        assert rlm.completion("b").response == "b"
        assert "variables are gone" in caplog.text


# -- compaction ------------------------------------------------------------------------------------------


def test_a_full_conversation_is_summarised_and_the_prologue_kept() -> None:
    asked: list[list[dict]] = []

    def turn(messages) -> str:
        asked.append(messages)
        if "Write that reply for yourself" in messages[-1]["content"]:
            return "a summary of it all"
        if any(message["content"] == "a summary of it all" for message in messages):
            return cell("final_answer([len(history), history[-1], len(history[0]), kept])")
        return cell("kept = 'kept'\nprint('x' * 9000)")

    heard = Heard()
    rlm = scripted(
        turn,
        compaction=True,
        compaction_threshold_pct=0.06,
        user_prologue="the prologue",
        on_event=heard,
        backend_kwargs={"model_name": "some model"},
    )
    completion = rlm.completion("c", "the question")
    removed = asked[-2][3:-1]
    expected = [2, {"type": "summary", "content": "a summary of it all"}, len(removed), "kept"]
    assert completion.response == str(expected)
    after = asked[-1]
    assert after[:3] == asked[0][:3]
    assert after[2]["content"] == "the prologue"
    assert after[3] == {"role": "assistant", "content": "a summary of it all"}
    assert [event.count for event in heard.of(kinds.Compacted)] == [1]
    assert "history" in after[0]["content"]


def test_what_compaction_removes_and_its_summary_are_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    load = LocalSession.load_context

    def loaded(session: LocalSession, name: str, payload: Any, also: Any = None) -> None:
        if name == "history":
            sent.append(len(payload))
        load(session, name, payload, also)

    def turn(messages: list[dict[str, Any]]) -> str:
        if "Write that reply for yourself" in messages[-1]["content"]:
            return "a summary"
        if "a summary" in [each["content"] for each in messages]:
            return cell("final_answer([type(each).__name__ for each in history])")
        return cell("print('x' * 9000)")

    monkeypatch.setattr(LocalSession, "load_context", loaded)
    options: dict[str, Any] = {"compaction_threshold_pct": 0.06, "backend_kwargs": {"model_name": "some model"}}
    assert scripted(turn, compaction=True, **options).completion("c").response == "['list', 'dict']"
    assert sent == [2]


def test_without_compaction_the_prompt_promises_no_history() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[0]["content"])
        return "FINAL(x)"

    scripted([turn]).completion("c")
    assert "`history`" not in seen[0]


# -- logs ------------------------------------------------------------------------------------------------


def test_a_trajectory_holds_each_turns_prompt_as_it_was(tmp_path: Path) -> None:
    logger = RLMLogger(log_dir=str(tmp_path))
    completion = scripted([cell("print(1)"), cell("print(2)"), "FINAL(x)"], logger=logger).completion("c")
    assert completion.metadata is not None
    lengths = [len(iteration["prompt"]) for iteration in completion.metadata["iterations"]]
    assert lengths == [3, 6, 9]
    lines = list(read_trajectory(next(tmp_path.glob("*.jsonl"))))
    assert [line["type"] for line in lines] == ["metadata", "iteration", "iteration", "iteration"]
    assert lines[1:] == completion.metadata["iterations"]
    assert lines[-1]["final_answer"] == "x"


def test_the_default_answer_is_in_the_trajectory() -> None:
    completion = scripted(["hm", "a guess"], max_iterations=1, logger=RLMLogger()).completion("c")
    assert completion.metadata is not None
    assert [each["final_answer"] for each in completion.metadata["iterations"]] == [None, "a guess"]


def test_values_that_json_cannot_hold_do_not_stop_a_logged_run(tmp_path: Path) -> None:
    code = (
        "big = 2**65536\nnan = float('nan')\nloop = []\nloop.append(loop)\nlone = '\\ud800'\nprint(lone, 'cr\\r\\nlf')"
    )
    logger = RLMLogger(log_dir=str(tmp_path))
    completion = scripted([cell(code), cell("final_answer(big % 7)")], logger=logger).completion("a\r\nb\ud800")
    assert completion.response == str(2**65536 % 7)
    for line in next(tmp_path.glob("*.jsonl")).read_text().splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(name))
    json.dumps(completion.to_dict(), allow_nan=False)


def test_children_are_in_the_trajectory_of_their_parent() -> None:
    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['a', 'b']))")],
        child_turns=[cell("final_answer(context)")],
        max_depth=2,
        logger=RLMLogger(),
    )
    completion = rlm.completion("x")
    assert completion.metadata is not None
    calls = completion.metadata["iterations"][0]["code_blocks"][0]["result"]["rlm_calls"]
    assert [call["response"] for call in calls] == ["a", "b"]
    assert all(len(call["metadata"]["iterations"]) == 1 for call in calls)
    assert all(call["execution_time"] > 0 for call in calls)


def test_completions_at_the_same_time_have_trajectories_of_their_own() -> None:
    together = threading.Barrier(3, timeout=20)

    def reply(_: str) -> str:
        together.wait()
        return "x"

    rlm = scripted(lambda m: cell("final_answer(context + llm_query('q'))"), reply, logger=RLMLogger())

    async def several():
        return await asyncio.gather(*(rlm.acompletion(f"c{n}") for n in range(3)))

    for completion in asyncio.run(several()):
        assert completion.metadata is not None
        assert [each["final_answer"] for each in completion.metadata["iterations"]] == [completion.response]


def test_sub_calls_are_recorded_with_their_usage_and_errors() -> None:
    def reply(prompt: str) -> str:
        if prompt == "bad":
            raise RuntimeError
        return "r" * 8

    heard = Heard()
    scripted([cell("llm_query_batched(['good', 'bad'])\nfinal_answer(1)")], reply, on_event=heard).completion("c")
    (done,) = heard.of(kinds.CellCompleted)
    good, bad = done.block.result.rlm_calls
    assert (good.response, good.error, good.usage_summary.total_output_tokens) == ("r" * 8, None, 2)
    assert (bad.error, bad.usage_summary.total_calls) == ("RuntimeError", 0)


# -- callbacks and events --------------------------------------------------------------------------------


def test_every_callback_of_upstream_fires() -> None:
    calls: list[tuple] = []
    scripted(
        [cell("rlm_query('the child')"), "FINAL(x)"],
        child_turns=["FINAL(c)"],
        max_depth=2,
        on_subcall_start=lambda *a: calls.append(("subcall_start", *a)),
        on_subcall_complete=lambda *a: calls.append(("subcall_complete", *a)),
        on_iteration_start=lambda *a: calls.append(("iteration_start", *a)),
        on_iteration_complete=lambda *a: calls.append(("iteration_complete", *a)),
    ).completion("x")
    names = [call[0] for call in calls]
    assert names == [
        "iteration_start", "subcall_start", "iteration_start", "iteration_complete", "subcall_complete",
        "iteration_complete", "iteration_start", "iteration_complete",
    ]  # fmt: skip
    assert calls[1][1:] == (1, "scripted", "the child")
    depth, model, seconds, error = calls[4][1:]
    assert (depth, model, error) == (1, "scripted", None) and 0 < seconds < 10


def test_what_a_callback_raises_does_not_end_the_run() -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("mine")

    rlm = scripted(["FINAL(x)"], on_iteration_start=broken, on_iteration_complete=broken, on_event=broken)
    assert rlm.completion("c").response == "x"


def test_a_failed_child_is_told_to_the_callback() -> None:
    errors: list[str | None] = []
    scripted(
        [cell("rlm_query('x')"), "FINAL(x)"],
        child_turns=[],
        max_depth=2,
        on_subcall_complete=lambda depth, model, seconds, error: errors.append(error),
    ).completion("x")
    assert errors[0] is not None and errors[0].startswith("Error: Child RLM completion failed")


def test_a_run_tells_its_events_in_order() -> None:
    heard = Heard()
    scripted([cell("llm_query('q')\nopen('/etc/passwd')"), "FINAL(x)"], "r", on_event=heard).completion("c")
    assert heard.names() == [
        "RunStarted",
        "TurnStarted", "ModelCalled", "CellStarted", "ModelCalled", "CellCompleted", "Violation", "TurnCompleted",
        "TurnStarted", "ModelCalled", "TurnCompleted", "AnswerReady", "RunCompleted",
    ]  # fmt: skip
    assert [event.purpose for event in heard.of(kinds.ModelCalled)] == ["turn", "llm_query", "turn"]
    completed = heard.of(kinds.RunCompleted)[0]
    assert completed.completion is not None and completed.completion.response == "x"
    assert [event.usage.total_calls for event in heard.of(kinds.ModelCalled)] == [1] * len(heard.of(kinds.ModelCalled))


def test_a_refused_model_is_a_violation() -> None:
    heard = Heard()
    scripted([cell("llm_query('q', model='evil')\nfinal_answer(1)")], "r", on_event=heard).completion("c")
    assert [event.rule for event in heard.of(kinds.Violation)] == ["lm-models"]


def test_stream_yields_the_events_and_ends_with_the_completion() -> None:
    events = list(scripted([cell("final_answer('s')")]).stream("c"))
    assert isinstance(events[0], kinds.RunStarted)
    last = events[-1]
    assert isinstance(last, kinds.RunCompleted) and last.completion is not None
    assert last.completion.response == "s"


def test_stream_raises_what_the_completion_raises_after_its_events() -> None:
    stream = scripted([cell("1/0")], max_errors=1).stream("c")
    seen = []
    with pytest.raises(ErrorThresholdExceededError):
        for event in stream:
            seen.append(event)
    assert isinstance(seen[-1], kinds.RunCompleted) and seen[-1].error == "ErrorThresholdExceededError"


def test_leaving_a_stream_early_ends_its_run() -> None:
    for event in scripted([cell("while True: pass")]).stream("c"):
        if isinstance(event, kinds.CellStarted):
            left = time.monotonic()
            break
    del event
    assert time.monotonic() - left < 3
    assert not [thread for thread in threading.enumerate() if thread.name == "rlm-secure-stream"]


def test_a_verbose_run_shows_no_escape_of_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    scripted([cell("print('\\x1b]0;owned\\x07')"), "FINAL(\x1b[31mred)"], verbose=True).completion("c")
    shown = capsys.readouterr()
    assert "\x1b]0" not in shown.out + shown.err
    assert "owned" in shown.err


# -- structured answers ----------------------------------------------------------------------------------


class City(BaseModel):
    name: str
    people: int


@dataclass
class Point:
    x: int
    y: int


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name", "people"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "turn", "parsed"),
    [
        (City, cell("final_answer({'name': 'Oslo', 'people': 5})"), City(name="Oslo", people=5)),
        (City, 'FINAL({"name": "Oslo", "people": 5})', City(name="Oslo", people=5)),
        (SCHEMA, cell("final_answer({'name': 'Oslo', 'people': 5})"), {"name": "Oslo", "people": 5}),
        (
            SCHEMA,
            cell("answer['content'] = {'name': 'Oslo', 'people': 5}; answer['ready'] = True"),
            {"name": "Oslo", "people": 5},
        ),
        (
            SCHEMA,
            cell("import json\nr = json.dumps({'name': 'Oslo', 'people': 5})") + "\nFINAL_VAR(r)",
            {"name": "Oslo", "people": 5},
        ),
        (list[int], cell("final_answer([1, 2])"), [1, 2]),
        (int, "FINAL(42)", 42),
        (str, "FINAL(plain words)", "plain words"),
        (Point, cell("final_answer({'x': 1, 'y': 2})"), Point(1, 2)),
        (bool, cell("final_answer(False)"), False),
    ],
)
def test_an_answer_that_fits_is_given_as_the_schemas_type(schema, turn, parsed) -> None:
    completion = scripted([turn], answer_schema=schema).completion("c")
    assert completion.parsed == parsed
    assert type(completion.parsed) is type(parsed)


@pytest.mark.parametrize("schema", [TypeAdapter(int | None), TypeAdapter(str | None), {"type": ["integer", "null"]}])
@pytest.mark.parametrize(
    "code",
    ["final_answer(None)", "answer['content'] = None; answer['ready'] = True", "found = None\nFINAL_VAR('found')"],
)
def test_none_is_an_answer_where_the_schema_has_it(schema, code: str) -> None:
    completion = scripted([cell(code)], answer_schema=schema).completion("c")
    assert (completion.parsed, completion.response) == (None, "null")


@pytest.mark.parametrize(
    "code",
    [
        "final_answer('None')",
        "answer['content'] = 'None'; answer['ready'] = True",
        "name = 'None'\nFINAL_VAR('name')",
        "class Named:\n    def __str__(self): return 'None'\nfinal_answer(Named())",
    ],
)
def test_a_text_that_reads_none_is_that_text(code: str) -> None:
    completion = scripted([cell(code)], answer_schema=TypeAdapter(str | None)).completion("c")
    assert (completion.parsed, completion.response) == ("None", "None")


def test_none_is_no_answer_where_the_schema_has_it_not() -> None:
    heard = Heard()
    turns = [cell("final_answer(None)"), cell("final_answer(3)")]
    assert scripted(turns, answer_schema=int, on_event=heard).completion("c").parsed == 3
    assert len(heard.of(kinds.AnswerRejected)) == 1
    assert scripted([cell("final_answer(None)")]).completion("c").response == "None"


def test_an_answer_that_does_not_fit_is_told_once_and_counted() -> None:
    seen: list[list[dict]] = []

    def second(messages) -> str:
        seen.append(messages)
        return cell("final_answer({'name': 'Oslo', 'people': 5})")

    heard = Heard()
    rlm = scripted([cell("final_answer({'name': 'Oslo', 'people': -1})"), second], answer_schema=SCHEMA, on_event=heard)
    completion = rlm.completion("c")
    assert completion.parsed == {"name": "Oslo", "people": 5}
    told = [message["content"] for message in seen[0] if "not accepted" in message["content"]]
    assert len(told) == 1 and "people" in told[0]
    assert len(heard.of(kinds.AnswerRejected)) == 1
    assert [event.error is None for event in heard.of(kinds.TurnCompleted)] == [False, True]


def test_an_answer_with_a_number_that_is_too_long_for_json_is_told() -> None:
    turns = [cell("answer['content'] = [1 << 20_000]; answer['ready'] = True"), cell("final_answer([3])")]
    assert scripted(turns, answer_schema=list[int]).completion("c").parsed == [3]


def test_a_rejected_answer_is_not_found_again_in_the_next_cell() -> None:
    turns = [cell("answer['content'] = 'bad'; answer['ready'] = True"), cell("x = 1"), cell("final_answer(3)")]
    heard = Heard()
    assert scripted(turns, answer_schema=int, on_event=heard).completion("c").response == "3"
    assert len(heard.of(kinds.AnswerRejected)) == 1


def test_rejected_answers_in_a_row_reach_max_errors() -> None:
    with pytest.raises(ErrorThresholdExceededError) as caught:
        scripted(lambda m: "FINAL(no number)", answer_schema=int, max_errors=3).completion("c")
    assert caught.value.partial_answer == "no number"


def test_a_last_answer_that_does_not_fit_is_an_error_with_its_text() -> None:
    with pytest.raises(AnswerInvalidError, match="last answer was not accepted: it is not JSON; raise max_iterations") as caught:
        scripted(["hm", "still no number"], max_iterations=1, answer_schema=int).completion("c")
    assert caught.value.partial_answer == "still no number"


def test_the_schema_is_in_the_prompt() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[0]["content"])
        return "FINAL(1)"

    scripted([turn], answer_schema=SCHEMA | {"title": "a {braced} title"}, max_iterations=1, max_errors=None)
    with pytest.raises(AnswerInvalidError):
        scripted([turn, "x"], answer_schema=SCHEMA, max_iterations=1).completion("c")
    assert '"additionalProperties":false' in seen[0]


# -- batches ---------------------------------------------------------------------------------------------


def test_a_batch_answers_in_order_with_errors_in_their_place() -> None:
    progress: list[tuple[int, int]] = []
    rlm = scripted(lambda m: cell("1/0" if "bad" in m[1]["content"] else "final_answer(context)"), max_errors=1)
    items = rlm.batch(["a", "b", "c"], ["good", "bad", "good"], on_progress=lambda *p: progress.append(p))
    assert [(item.index, item.completion and item.completion.response) for item in items] == [
        (0, "a"),
        (1, None),
        (2, "c"),
    ]
    assert isinstance(items[1].error, ErrorThresholdExceededError)
    assert items[0].response == "a"
    with pytest.raises(ErrorThresholdExceededError):
        _ = items[1].response
    assert sorted(progress) == [(1, 3), (2, 3), (3, 3)]


def test_a_batch_runs_as_many_at_once_as_it_is_told() -> None:
    together = threading.Barrier(3, timeout=20)

    def reply(_: str) -> str:
        together.wait()
        return "x"

    rlm = scripted(lambda m: cell("final_answer(llm_query('q'))"), reply)
    assert [item.response for item in rlm.batch(["a"] * 6, concurrency=3)] == ["x"] * 6


def test_a_batch_that_cannot_be_done_is_refused_before_its_first_call() -> None:
    rlm = scripted(lambda m: pytest.fail("it was asked"), policy=limited(calls=5))
    with pytest.raises(Refused, match="a batch of 6 prompts takes at least as many calls .*lm.calls leaves 5;"):
        rlm.batch(["p"] * 6)


def test_a_batch_has_one_allowance() -> None:
    turns = scripted(lambda m: "FINAL(x)" if len(m) > 3 else cell("x = 1"), policy=limited(calls=9))
    items = turns.batch(["p"] * 9, concurrency=4)
    assert 0 < sum(item.error is None for item in items) <= 4
    assert {type(item.error).__name__ for item in items if item.error} == {"CallLimitExceededError"}
    assert all(isinstance(item.error, BudgetExceededError) for item in items if item.error)


def test_a_batch_tells_of_each_item_and_is_resumed_by_index() -> None:
    told: list[Item] = []
    progress: list[tuple[int, int]] = []
    asked: list[str] = []

    def turn(messages) -> str:
        asked.append(messages[-1]["content"])
        return "FINAL(x)" if len(messages) > 3 else cell("y = 1")

    first = scripted(turn, policy=limited(calls=5)).batch(["a"] * 3, concurrency=1, on_item=told.append)
    assert [item.index for item in told] == [0, 1, 2]
    assert told == first
    assert [item.completion is None for item in first] == [False, False, True]
    del asked[:]
    again = scripted(turn).batch(["a"] * 3, resume=reversed(first), on_progress=lambda *now: progress.append(now))
    assert len(asked) == 2
    assert again[:2] == first[:2]
    assert again[2].response == "x"
    assert progress == [(3, 3)]
    with pytest.raises(ValueError, match="resume has an item of index 2, and there are 2 prompts"):
        scripted(turn).batch(["a"] * 2, resume=first)


def test_a_batch_can_be_awaited_and_cancelled() -> None:
    async def awaited() -> list[Item]:
        return await scripted(lambda m: "FINAL(x)").abatch(["a", "b"], "the question")

    async def cancelled() -> float:
        task = asyncio.create_task(scripted(lambda m: cell("while True: pass")).abatch(["a"] * 4, concurrency=4))
        await asyncio.sleep(0.5)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert [item.response for item in asyncio.run(awaited())] == ["x", "x"]
    assert asyncio.run(cancelled()) < 2


@pytest.mark.parametrize("arguments", [(["a", "b"], ["one"]), (["a"], None, 0)])
def test_a_batch_that_makes_no_sense_is_a_value_error(arguments) -> None:
    prompts, questions, *rest = arguments
    with pytest.raises(ValueError):
        scripted(["FINAL(x)"]).batch(prompts, questions, **({"concurrency": rest[0]} if rest else {}))
