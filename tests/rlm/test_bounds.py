"""What a cell can make the host keep, hold and write: each limit, gone over."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.errors import (
    AuditLogError,
    CallLimitExceededError,
    CellCallsRefused,
    EnvironmentUnavailable,
    ProviderError,
    ResultTooLarge,
    TimeoutExceededError,
)
from rlm_secure.events import (
    AnswerReady,
    CellCompleted,
    Event,
    EventsDropped,
    LimitReached,
    Noticed,
    RunCompleted,
    SubcallCompleted,
    Violation,
)
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.logger import AuditLog, RLMLogger, VerbosePrinter
from rlm_secure.policy import Gate
from rlm_secure.policy.model import MIB, Policy
from rlm_secure.rlm import rlm as loop
from rlm_secure.rlm.batch import Item
from rlm_secure.rlm.budget import Records
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.tree import Backlog
from rlm_secure.types import ModelUsageSummary, RefusedCall, UsageSummary, held_bytes
from tests.loops import Heard, cell, scripted


def bounded(**sections: Any) -> Policy:
    return Policy.model_validate({"name": "t", **sections})


# -- calls that are refused ------------------------------------------------------------------------------

ASKS_FOR_EVER = cell("big = 'x' * 100_000\nwhile True:\n    llm_query(big)")


def test_a_cell_that_goes_on_asking_is_ended_and_none_of_its_prompts_is_kept(tmp_path: Path) -> None:
    heard = Heard()
    logger = RLMLogger(tmp_path)
    policy = bounded(lm={"calls": 3, "refusals": 20}, limits={"run_seconds": 60.0})
    with pytest.raises(CallLimitExceededError):
        scripted([ASKS_FOR_EVER, "never"], "ok", policy=policy, logger=logger, on_event=heard).completion("c")
    (completed,) = heard.of(CellCompleted)
    result = completed.block.result
    assert isinstance(result.error, CellCallsRefused)
    assert (result.error.limit, result.error.session_ended) == ("lm.refusals", False)
    refused = [call for call in result.rlm_calls if isinstance(call, RefusedCall)]
    assert [call.response for call in result.rlm_calls[:2]] == ["ok", "ok"]
    assert len(refused) == 21
    assert {call.prompt for call in refused} == {"[not kept: 100,000 characters]"}
    assert held_bytes(logger.get_trajectory()) < 500_000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 500_000


def test_refusals_of_the_gate_count_and_the_run_goes_on_after_the_cell(tmp_path: Path) -> None:
    policy = bounded(lm={"prompt_bytes": 1_000, "refusals": 5})
    turns = [cell("n = 0\nwhile True:\n    n += 1\n    llm_query('x' * 2_000)"), cell("final_answer(n)")]
    heard = Heard()
    assert scripted(turns, "ok", policy=policy, on_event=heard).completion("c").response == "6"
    result = heard.of(CellCompleted)[0].block.result
    assert isinstance(result.error, CellCallsRefused)
    assert "lm.refusals = 5" in result.stderr and "time is used up" not in result.stderr


def test_a_cell_cannot_catch_its_end() -> None:
    code = "while True:\n    try:\n        llm_query('x' * 2_000)\n    except Exception:\n        pass"
    policy = bounded(lm={"prompt_bytes": 1_000, "refusals": 5}, limits={"run_seconds": 60.0, "cell_seconds": 60.0})
    heard = Heard()
    began = time.monotonic()
    completion = scripted([cell(code), cell("final_answer('on')")], "ok", policy=policy, on_event=heard).completion("c")
    assert completion.response == "on"
    assert time.monotonic() - began < 30
    assert isinstance(heard.of(CellCompleted)[0].block.result.error, CellCallsRefused)


def test_honest_code_that_collects_errors_still_answers() -> None:
    code = "replies = [llm_query(f'part {i}') for i in range(80)]\nfinal_answer(sum(r == 'ok' for r in replies))"
    policy = bounded(lm={"calls": 11})
    assert scripted([cell(code)], "ok", policy=policy).completion("c").response == "10"


def test_a_batch_that_is_refused_counts_once_and_keeps_no_prompt() -> None:
    code = "for _ in range(3):\n    out = llm_query_batched(['y' * 50_000] * 40)\nfinal_answer(out[0][:30])"
    heard = Heard()
    policy = bounded(lm={"calls": 1, "refusals": 3})
    completion = scripted([cell(code)], "ok", policy=policy, on_event=heard).completion("c")
    assert completion.response.startswith("Error: Call limit reached")
    calls = heard.of(CellCompleted)[0].block.result.rlm_calls
    assert len(calls) == 120
    assert held_bytes([call.prompt for call in calls]) < 20_000


def test_children_that_cannot_begin_count_as_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = loop.get_environment

    def only_the_root(name: str, options: Any) -> Any:
        if options["depth"] > 1:
            raise EnvironmentUnavailable("the provider said: secret words")
        return real(name, options)

    monkeypatch.setattr(loop, "get_environment", only_the_root)
    code = "last = ''\nwhile True:\n    last = rlm_query('q' * 10_000)"
    turns = [cell(code), cell("final_answer(last)")]
    policy = bounded(lm={"refusals": 4})
    completion = scripted(turns, "ok", child_turns=["x"], max_depth=2, policy=policy).completion("c")
    # What a provider said of its failure does not enter a sandbox.
    assert completion.response == "Error: Child RLM completion failed - EnvironmentUnavailable"


@pytest.mark.parametrize("ask", ["rlm_query('q')", "rlm_query_batched(['q'] * 3)"])
@pytest.mark.parametrize("event", ["session_start", "refusal"])
def test_a_child_that_cannot_be_audited_ends_the_run(event: str, ask: str) -> None:
    class Full(AuditLog):
        started = 0

        def session_start(self, session: str, *, policy: str, report: EnforcementReport) -> None:
            self.started += 1
            if self.started > 1 and event == "session_start":
                raise AuditLogError("/tmp/secret-dir/audit.jsonl became shorter")

        def refusal(self, session: str, *, rule: str, reason: str) -> None:
            raise AuditLogError("/tmp/secret-dir/audit.jsonl became shorter")

    heard = Heard()
    code = f"try:\n    {ask}\nexcept BaseException as error:\n    print(error)"
    child = [cell("llm_query('q', model='gpt-4')"), *["FINAL(x)"] * 9]
    policy, turns = bounded(), [cell(code), cell("final_answer('on')")]
    run = scripted(turns, "ok", child_turns=child, max_depth=2, policy=policy, audit=Full(), on_event=heard)
    with pytest.raises(AuditLogError, match="became shorter"):
        run.completion("c")
    assert heard.of(CellCompleted) == []
    assert "Error: Child RLM completion failed - AuditLogError" in [each.error for each in heard.of(SubcallCompleted)]


def test_a_child_s_answer_is_within_the_bounds_of_a_reply_and_of_a_batch() -> None:
    asked = "final_answer([len(each) for each in rlm_query_batched(['q'] * 3)] + [rlm_query('r')[:90]])"
    child = cell("final_answer('x' * 400_000)")
    limits: Any = {"limits": {"kept_bytes": MIB}}
    completion = scripted([cell(asked)], "ok", child_turns=[child], max_depth=2, policy=bounded(**limits)).completion("c")
    sizes = ast.literal_eval(completion.response)[:3]
    assert sorted(sizes)[1:] == [400_000, 400_000] and sizes != [400_000] * 3
    small = bounded(lm={"reply_bytes": 1_000})
    completion = scripted([cell(asked)], "ok", child_turns=[child], max_depth=2, policy=small).completion("c")
    assert "Error: Child RLM completion failed - the model's reply takes 400,000 bytes" in completion.response


# -- records ---------------------------------------------------------------------------------------------


def test_calls_beyond_the_room_for_records_are_counted_not_kept() -> None:
    heard = Heard()
    code = "for _ in range(8):\n    llm_query('p' * 300_000)\nfinal_answer('done')"
    policy = bounded(limits={"kept_bytes": MIB})
    completion = scripted([cell(code)], "r" * 10, policy=policy, on_event=heard).completion("c")
    result = heard.of(CellCompleted)[0].block.result
    assert (len(result.rlm_calls), result.dropped_calls) == (3, 5)
    assert result.to_dict()["dropped_calls"] == 5
    assert [notice.kind for notice in completion.notices] == ["records"]
    assert [event.kind for event in heard.of(Noticed)] == ["records"]
    assert completion.usage_summary.total_calls == 9
    assert completion.to_dict()["notices"][0]["kind"] == "records"


def test_replies_of_one_batch_are_bounded_together() -> None:
    code = "out = llm_query_batched(['q'] * 8)\nfinal_answer([len(o) for o in out])"
    policy = bounded(limits={"kept_bytes": MIB})
    lengths = json.loads(scripted([cell(code)], "r" * 400_000, policy=policy).completion("c").response)
    assert sorted(lengths)[-2:] == [400_000, 400_000]
    assert all(length < 200 for length in sorted(lengths)[:-2])


def test_what_batches_hold_is_given_back() -> None:
    code = "\n".join(["for _ in range(5):", "    out = llm_query_batched(['q'] * 2)", "final_answer([len(o) for o in out])"])
    policy = bounded(limits={"kept_bytes": MIB})
    assert json.loads(scripted([cell(code)], "r" * 400_000, policy=policy).completion("c").response) == [400_000] * 2


def test_a_turn_runs_no_more_cells_when_their_results_are_too_much() -> None:
    heard = Heard()
    turns = ["\n".join([cell("print('o' * 700_000)")] * 5), cell("final_answer('after')")]
    policy = bounded(limits={"kept_bytes": MIB})
    assert scripted(turns, policy=policy, on_event=heard).completion("c").response == "after"
    assert len([event for event in heard.of(CellCompleted) if event.number == 1]) == 2
    assert [event.limit for event in heard.of(LimitReached)] == ["records"]


def test_cells_that_were_not_run_are_said_to_the_model() -> None:
    seen: list[Any] = []
    turns = [
        "\n".join([cell("print('o' * 700_000)")] * 5),
        lambda messages: seen.append(messages) or cell("final_answer('after')"),
    ]
    scripted(turns, policy=bounded(limits={"kept_bytes": MIB})).completion("c")
    assert "limits.kept_bytes = 1,048,576" in json.dumps(seen[0])


def test_a_trajectory_beyond_the_room_is_a_stub_and_says_so() -> None:
    logger = RLMLogger()
    turns = [cell(f"print('{letter}' * 600_000)") for letter in "abcd"] + ["FINAL(x)"]
    completion = scripted(turns, policy=bounded(limits={"kept_bytes": MIB}), logger=logger).completion("c")
    assert held_bytes(completion.metadata) < 2 * MIB
    responses = [entry["response"] for entry in completion.metadata["iterations"]]
    assert len(responses) == 5
    assert responses[0] == turns[0] and responses[1].startswith("[not kept: ")
    assert [notice.kind for notice in completion.notices] == ["log"]


def test_one_run_adds_no_more_than_its_bytes_to_the_file(tmp_path: Path) -> None:
    turns = [cell(f"print('{letter}' * 30_000)") for letter in "abcd"] + ["FINAL(x)"]
    policy = bounded(data={"log_bytes": 50_000})
    completion = scripted(turns, policy=policy, logger=RLMLogger(tmp_path)).completion("c")
    (file,) = tmp_path.iterdir()
    lines = file.read_text("ascii").splitlines()
    assert file.stat().st_size <= 50_000
    assert [json.loads(line)["type"] for line in lines] == ["metadata", "iteration"]
    assert completion.response == "x"
    assert "data.log_bytes" in completion.notices[0].message
    assert len(completion.metadata["iterations"]) == 5


def test_a_turns_own_reply_is_bounded_too() -> None:
    policy = bounded(lm={"reply_bytes": 1_000})
    with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
        scripted(["x" * 1_001], policy=policy).completion("c")


def test_a_reply_to_the_run_itself_that_is_refused_is_written_down(tmp_path: Path) -> None:
    heard = Heard()
    audit = AuditLog(tmp_path / "audit.jsonl")
    options: dict[str, Any] = {"policy": bounded(lm={"reply_bytes": 1_000}), "on_event": heard, "audit": audit}
    with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
        scripted(["x" * 1_001], **options).completion("c")
    with pytest.raises(ProviderError, match=r"more than lm\.reply_bytes = 1,000"):
        scripted(["a", "x" * 1_001], max_iterations=1, **options).completion("c")
    assert [event.rule for event in heard.of(Violation)] == ["lm-reply-bytes"] * 2
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    refused = [line for line in lines if line["event"] == "refusal"]
    assert [(line["session"], line["rule"]) for line in refused] == [("run at depth 0", "lm-reply-bytes")] * 2


@pytest.mark.parametrize(
    ("code", "replies", "rules"),
    [
        ("llm_query('q', model='gpt-4')", "ok", ["lm-models"]),
        ("rlm_query('x' * 2_000)", "ok", ["lm-prompt-bytes"]),
        ("llm_query_batched(['q'] * 4)", "ok", ["lm-batch"]),
        ("llm_query('q', media=[b'none'])", "ok", ["lm-media"]),
        ("llm_query_batched(['q'] * 2)", "x" * 1_001, ["lm-reply-bytes"] * 2),
    ],
)
def test_calls_of_cells_that_are_refused_are_written_down(
    tmp_path: Path, code: str, replies: str, rules: list[str]
) -> None:
    heard = Heard()
    path = tmp_path / "audit.jsonl"
    policy = bounded(lm={"prompt_bytes": 1_000, "batch": 3, "reply_bytes": 1_000})
    run = scripted([cell(f"print({code})"), cell("final_answer('on')")], replies, policy=policy, on_event=heard, audit=AuditLog(path))
    assert run.completion("c").response == "on"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    refused = [(line["session"], line["rule"]) for line in lines if line["event"] == "refusal"]
    assert refused == [("run at depth 0", rule) for rule in rules]
    assert [event.rule for event in heard.of(Violation)] == rules


@pytest.mark.parametrize("error", [AuditLogError, OSError])
@pytest.mark.parametrize("code", ["llm_query('q', model='gpt-4')", "llm_query('q')", "rlm_query('q')"])
def test_a_refused_call_that_cannot_be_written_down_ends_the_run(code: str, error: type[Exception]) -> None:
    class Full(AuditLog):
        def refusal(self, session: str, *, rule: str, reason: str) -> None:
            raise error("no room")

    policy = bounded(lm={"reply_bytes": 1_000})
    run = scripted([cell(code), cell("final_answer('on')")], "x" * 1_001, policy=policy, audit=Full())
    with pytest.raises(AuditLogError, match="no room" if error is AuditLogError else "did not take a refusal: OSError"):
        run.completion("c")


class Blocking:
    """A client whose reply holds up the loop while it is read, and with it every clock there."""

    model_name = "m"

    async def acompletion(self, prompt: Any) -> str:
        time.sleep(1.5)
        return "FINAL(late)"

    def completion(self, prompt: Any) -> str:
        raise AssertionError

    def get_usage_summary(self) -> UsageSummary:
        return UsageSummary()

    def get_last_usage(self) -> ModelUsageSummary:
        return ModelUsageSummary(0, 0, 0)


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        (bounded(limits={"run_seconds": 1.0}), TimeoutExceededError),
        (bounded(lm={"timeout_seconds": 0.2}), ProviderError),
    ],
    ids=["run_seconds", "timeout_seconds"],
)
def test_a_deadline_that_passed_while_a_reply_was_read_is_kept(policy: Policy, error: type[Exception]) -> None:
    with scripted([], policy=policy)._tree() as tree:
        handler = LMHandler(Blocking(), tree=tree, gate=Gate(policy))
        with pytest.raises(error):
            handler.ask("q")


def test_answers_of_a_batch_are_bounded_together() -> None:
    rlm = scripted(lambda _: f"FINAL({'a' * 400_000})", policy=bounded(limits={"kept_bytes": MIB}))
    items: list[Item] = rlm.batch(["c"] * 4, concurrency=1)
    assert [item.completion is not None for item in items] == [True, True, False, False]
    assert isinstance(items[3].error, ResultTooLarge)
    assert (items[3].error.limit, items[3].error.size > 400_000) == (MIB, True)


def test_records_are_never_more_than_their_limit() -> None:
    records = Records(100)
    assert [records.take(size) for size in (60, 60, 40, 1, 0)] == [True, False, True, False, True]
    assert records.kept == 100


def test_held_bytes_stops_where_it_is_told() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert held_bytes(nested) > 100_000
    assert held_bytes(["x" * 1000] * 1_000_000, 10_000) < 8_100_000
    assert held_bytes({"k": "v" * 10_000}) > 10_000


# -- whoever listens -------------------------------------------------------------------------------------


def test_a_slow_reader_of_events_loses_some_and_is_told_how_many() -> None:
    backlog = Backlog(100_000)
    for number in range(10):
        backlog.put(AnswerReady(depth=0, answer=f"{number}" * 30_000, source="text"))
    backlog.put(RunCompleted(depth=0, completion=None, error="x" * 200_000))
    backlog.end()
    got = []
    while (event := backlog.get()) is not None:
        got.append(event)
    assert [type(event) for event in got] == [AnswerReady] * 3 + [EventsDropped, RunCompleted]
    assert got[3] == EventsDropped(depth=0, count=7)


def test_events_are_bounded_in_number() -> None:
    backlog = Backlog(10**9)
    for _ in range(10_005):
        backlog.put(LimitReached(depth=0, limit="calls", message=""))
    backlog.end()
    got = [backlog.get() for _ in range(10_001)]
    assert got[-1] == EventsDropped(depth=0, count=5)
    assert backlog.get() is None


def test_a_stream_that_nobody_reads_is_bounded() -> None:
    policy = bounded(limits={"kept_bytes": MIB})
    ended = threading.Event()

    def heard(event: Event) -> None:
        if isinstance(event, RunCompleted):
            ended.set()

    turns = [cell("print('o' * 900_000)")] * 6 + ["FINAL(x)"]
    events = scripted(turns, policy=policy, on_event=heard).stream("c")
    first = next(events)
    assert ended.wait(60)
    rest = list(events)
    assert held_bytes([event.block.result.stdout for event in [first, *rest] if isinstance(event, CellCompleted)]) < 2 * MIB
    assert isinstance(rest[-1], RunCompleted)
    assert rest[-1].completion.response == "x"


def test_a_display_shows_some_calls_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    code = "for i in range(60):\n    llm_query(f'number {i}')\nfinal_answer('x')"
    scripted([cell(code)], "ok", verbose=True).completion("c")
    shown = capsys.readouterr().err
    assert shown.count("call scripted") == 50
    assert "... and 10 more calls" in shown


def test_a_display_that_fails_ends_no_run() -> None:
    from rich.console import Console

    with open("/dev/full", "w", buffering=1) as full:
        rlm = scripted([cell("print(1)"), "FINAL(x)"])
        rlm.verbose = VerbosePrinter(console=Console(file=full))
        assert rlm.completion("c").response == "x"
        assert rlm.verbose.console is None
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


# -- sessions --------------------------------------------------------------------------------------------


def test_the_log_that_a_session_replays_is_bounded_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlm_secure.compat.environments import LocalREPL
    from rlm_secure.environments import replay

    monkeypatch.setattr(replay, "LOG_BYTES", 100_000)
    policy = bounded(isolation={"checkpoints": False})
    with LocalREPL(policy=policy) as repl:
        for _ in range(3):
            repl.execute_code(f"x = '{'y' * 30_000}'")
        assert repl.session._log is not None
        repl.execute_code(f"x = '{'y' * 30_000}'")
        assert repl.session._log is None
        assert repl.execute_code("print(len(x))").stdout == "30000\n"



# -- the host's memory and disk, measured ----------------------------------------------------------------

MEASURED = """
import json, os, pathlib, sys, time
from rlm_secure.logger import RLMLogger
from rlm_secure.rlm.rlm import RLM
from rlm_secure.policy.model import Policy
code = "big = 'x' * 1_000_000" + chr(10) + "while True:" + chr(10) + "    llm_query(big)"
policy = Policy.model_validate({"name": "t", "limits": {"run_seconds": 6.0}, "lm": {"calls": 5}})
turns = ["```repl" + chr(10) + code + chr(10) + "```"]
rlm = RLM("scripted", {"turns": turns, "replies": "ok"}, policy=policy, logger=RLMLogger(sys.argv[1]))
began = time.monotonic()
try:
    rlm.completion("c")
except Exception as error:
    raised = type(error).__name__
log = sum(file.stat().st_size for file in pathlib.Path(sys.argv[1]).iterdir())
status = pathlib.Path("/proc/self/status").read_text()  # ru_maxrss would be the test's own, before exec
peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps({"raised": raised, "peak": peak, "log": log, "seconds": time.monotonic() - began}))
"""


def test_a_cell_fills_neither_the_hosts_memory_nor_its_disk(tmp_path: Path) -> None:
    bounded_shell = 'ulimit -v 6000000; exec "$@"'
    command = ["sh", "-c", bounded_shell, "sh", sys.executable, "-c", MEASURED, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=280)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["raised"] in ("CallLimitExceededError", "TimeoutExceededError")
    assert found["peak"] < 150 * MIB  # an idle host has 50; a prompt is on its way in several forms
    assert found["log"] < 10 * MIB
