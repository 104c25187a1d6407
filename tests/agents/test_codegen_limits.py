"""The pipeline at its limits: time, memory, spending, sessions, threads, records, files of tables, the real SDK."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import openpyxl
import psutil
import pytest

from rlm_secure.agents import CodegenCompletion, CodegenPipeline, Table
from rlm_secure.errors import (
    BudgetExceededError,
    CallLimitExceededError,
    CancellationError,
    CodegenFailed,
    ContextError,
    ProviderError,
    Refused,
    RLMSecureError,
    TableError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.events import CellStarted, RunCompleted
from rlm_secure.logger import AuditLog, RLMLogger, verify
from tests.loops import Heard
from tests.servers.openai_server import OpenAIServer

KEY = "sk-test-0123456789abcdef0123456789abcdef"
ROWS = {"region": ["North", "South", "North"], "sales": [10, 4, 7]}


def fence(code: str) -> str:
    return f"```python\n{code}\n```"


GOOD = fence("result = sum(columns['sales'])")


def strict(**sections: Any) -> dict[str, Any]:
    return {"extends": "strict", "name": "test", **sections}


def ask(*turns: Any, rows: Any = ROWS, mode: Any = "read", **told: Any) -> CodegenCompletion[Any]:
    return CodegenPipeline("scripted", {"turns": list(turns)}, slots=False, **told).run(rows, "How much?", mode=mode)


def stuck() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name in ("rlm-secure-stream", "rlm-secure-tree")]


# -- what the code takes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        ({"cell_seconds": 1.0}, "while True:\n    pass\nresult = 1", "time is used up"),
        ({"cell_cpu_seconds": 1.0}, "while True:\n    pass\nresult = 1", "time is used up"),
        ({"memory_bytes": 256 * 1024**2}, "result = 'x' * (300 * 1024**2)", "memory"),
        ({"memory_bytes": 256 * 1024**2}, "result = [0] * 10**9", "memory"),
        ({"source_bytes": 2_000}, "result = 1\n" + "x = 1\n" * 1_000, "bytes"),
    ],
)
def test_a_limit_of_a_cell_goes_back_and_is_repaired(limits: dict[str, Any], code: str, said: str) -> None:
    section = {"language": limits} if "source_bytes" in limits else {"limits": limits}
    seen: list[str] = []

    def second(messages: Any) -> str:
        seen.append(messages[-1]["content"])
        return GOOD

    done = ask(fence(code), second, policy=strict(**section))
    assert done.result == 21 and done.attempts[0].reason in ("runtime_error", "language")
    assert said in (done.attempts[0].error or "").lower() and said in seen[0].lower()


def test_a_session_whose_cpu_is_used_up_is_replaced() -> None:
    burn = fence("total = 0\nfor each in range(10**9):\n    total += each\nresult = total")
    done = ask(burn, burn, GOOD, policy=strict(limits={"session_cpu_seconds": 1.0, "cell_cpu_seconds": 0.7, "resumes": 1}))
    assert done.result == 21 and len(done.attempts) == 3


def test_cells_of_a_session_are_bounded_and_the_pipeline_ends_cleanly() -> None:
    with pytest.raises(RLMSecureError):
        ask(*[fence("result = 1 / 0")] * 4, policy=strict(limits={"cells": 1}))
    assert not stuck()


def test_a_result_that_is_no_data_or_too_large_has_its_text() -> None:
    assert ask(fence("result = (each for each in [1])")).result_text.startswith("<generator")
    done = ask(fence("result = 'x' * 2_000_000"))
    assert len(done.result_text) < 20_100
    raising = fence("class A:\n    def __str__(self):\n        raise ValueError('no text')\nresult = A()")
    assert ask(raising, GOOD).result == 21
    endless = fence("class A:\n    def __str__(self):\n        while True:\n            pass\nresult = A()")
    done = ask(endless, GOOD, policy=strict(limits={"cell_seconds": 1.0}))
    assert done.result == 21 and done.attempts[0].reason == "runtime_error"


def test_an_edit_that_grows_without_bound_is_not_kept() -> None:
    grown = fence("columns['new'] = ['x' * 1000] * 3\nfor name in range(2000):\n    columns[str(name)] = columns['new']\nresult = 1")
    done = ask(grown, fence("columns['sales'][0] = 1\nresult = 'one'"), mode="edit", policy=strict(limits={"kept_bytes": 1024**2}))
    assert "kept_bytes" in (done.attempts[0].error or "")
    assert done.table is not None and done.table.columns["sales"][0] == 1


def test_many_columns_and_long_names() -> None:
    wide = {f"column {each}": [each] for each in range(5_000)}
    done = ask(fence("result = len(columns)"), rows=wide)
    assert done.result == 5_000
    done = ask(fence("columns['column 7'][0] = 'x'\nresult = 'done'"), rows=wide, mode="edit")
    assert done.diff is not None and done.diff.to_dict()["cells_changed"] == 1
    with pytest.raises(TableError, match="name"):
        ask(GOOD, rows={"n" * 2_000_000: [1]})


# -- what the run takes -------------------------------------------------------------------------------------------


def test_every_limit_of_spending_ends_the_run_with_what_there_is() -> None:
    bad = fence("x = 1")
    with pytest.raises(TokenLimitExceededError) as tokens:
        ask(*[bad] * 9, max_tokens=800)
    assert tokens.value.partial_answer == bad
    with pytest.raises(CallLimitExceededError):
        ask(bad, bad, policy=strict(lm={"calls": 1}))
    with pytest.raises(TimeoutExceededError):
        ask(fence("while True:\n    pass\nresult = 1"), GOOD, max_timeout=2.0)
    with pytest.raises(ProviderError, match="add one"):
        ask(bad)
    assert not stuck()


def test_the_budget_ends_the_run() -> None:
    with OpenAIServer(reply=fence("x = 1")) as server:
        one = CodegenPipeline(
            backend_kwargs={"model_name": "m", "base_url": server.base_url, "api_key": KEY},
            max_budget=0.5,
            prices={"m": (1_000.0, 1_000.0)},
            slots=False,
        )
        with pytest.raises(BudgetExceededError):
            one.run(ROWS, "q", mode="read")
    assert len(server.requests) < 4


def test_a_table_larger_than_a_context_may_be_is_refused() -> None:
    with pytest.raises((TableError, Refused, ContextError), match="context_bytes|MiB|bytes"):
        ask(GOOD, rows={"a": ["x" * 1000] * 2000}, policy=strict(limits={"context_bytes": 1024**2}))


# -- ends ---------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_the_run_and_leaves_no_process() -> None:
    def stop(_: Any) -> str:
        raise KeyboardInterrupt

    children = {each.pid for each in psutil.Process().children()}
    with pytest.raises(CancellationError):
        ask(fence("result = 1 / 0"), stop)
    assert not stuck()
    fresh = [each for each in psutil.Process().children() if each.pid not in children]
    assert all("worker" not in " ".join(each.cmdline()) for each in fresh)


def test_a_stream_that_is_left_early_ends_its_run_and_its_cell() -> None:
    one = CodegenPipeline("scripted", {"turns": [fence("while True:\n    pass\nresult = 1")]}, slots=False)
    stream = one.stream(ROWS, "q", mode="read")
    for event in stream:
        if isinstance(event, CellStarted):
            break
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 10 and not stuck()


def test_runs_of_one_pipeline_in_threads_do_not_mix() -> None:
    def script(messages: Any) -> str:
        number = messages[-1]["content"].split('"')[1]
        return fence(f"mine = {number!r}\nresult = [mine, columns['n'][0]]")

    one = CodegenPipeline("scripted", {"turns": script}, slots=False)
    found: dict[int, Any] = {}

    def go(number: int) -> None:
        found[number] = one.run({"n": [number]}, str(number), mode="read").result

    threads = [threading.Thread(target=go, args=(each,)) for each in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {each: [str(each), each] for each in range(6)}


def test_many_runs_at_once_in_an_event_loop() -> None:
    one = CodegenPipeline("scripted", {"turns": lambda _: GOOD}, slots=False)

    async def main() -> list[Any]:
        return await asyncio.gather(*(one.arun(ROWS, "q", mode="read") for _ in range(4)))

    assert [each.result for each in asyncio.run(main())] == [21] * 4


def test_a_failed_run_is_told_to_listeners() -> None:
    heard = Heard()
    with pytest.raises(CodegenFailed):
        ask(fence("x = 1"), repairs=0, on_event=heard)
    (last,) = heard.of(RunCompleted)
    assert last.completion is None and last.error == "CodegenFailed"


# -- records ------------------------------------------------------------------------------------------------------


def test_a_run_is_logged_and_audited_and_no_secret_is_in_it(tmp_path: Path) -> None:
    log, audit = RLMLogger(tmp_path / "logs"), AuditLog(tmp_path / "audit.jsonl")
    replies = iter(['{"mode": "edit"}', fence("columns['sales'][0] = 0\nresult = 1 / 0"), fence("columns['sales'][0] = 0\nresult = 'set'")])
    heard = Heard()
    with OpenAIServer(reply=lambda _: next(replies)) as server:
        kwargs = {"model_name": "m", "base_url": server.base_url, "api_key": KEY}
        done = CodegenPipeline(backend_kwargs=kwargs, slots=False, logger=log, audit=audit, on_event=heard).run(ROWS, "q")
    assert done.mode == "edit" and done.table is not None
    assert all(KEY not in json.dumps(each.body) for each in server.requests)
    text = Path(str(log.log_file_path)).read_text()
    assert KEY not in text and KEY not in json.dumps(done.to_dict()) and KEY not in repr(list(heard))
    assert [json.loads(each)["event"] for each in (tmp_path / "audit.jsonl").read_text().splitlines()].count("session-start") == 2
    assert verify(tmp_path / "audit.jsonl").lines > 1
    assert done.metadata is not None and len(done.metadata["iterations"]) == 3


# -- tables from files --------------------------------------------------------------------------------------------


def test_files_and_frames_are_read(tmp_path: Path) -> None:
    import pandas as pd

    (tmp_path / "a.csv").write_text("region,sales\nNorth,10\nSouth,4\nNorth,7\n")
    book = openpyxl.Workbook()
    book.active.append(["other"])
    book.active.append([1])
    sheet = book.create_sheet("Sales")
    for row in (["region", "sales"], ["North", 10], ["South", 4], ["North", 7]):
        sheet.append(row)
    book.save(tmp_path / "b.xlsx")
    pd.DataFrame(ROWS).to_parquet(tmp_path / "c.parquet")
    for given in (tmp_path / "a.csv", str(tmp_path / "a.csv"), tmp_path / "c.parquet", pd.DataFrame(ROWS), Table(ROWS)):
        assert ask(GOOD, rows=given).result == 21
    one = CodegenPipeline("scripted", {"turns": [GOOD]}, slots=False)
    assert one.run(tmp_path / "b.xlsx", "q", mode="read", sheet="Sales").result == 21
    with pytest.raises(TableError, match=r"missing\.csv"):
        ask(GOOD, rows=tmp_path / "missing.csv")
    with pytest.raises(TableError, match="sheet"):
        one.run(tmp_path / "b.xlsx", "q", mode="read", sheet="None")


# -- tables read back ---------------------------------------------------------------------------------------------

DATA = {"extends": "data", "name": "test"}


@pytest.mark.parametrize(
    ("code", "columns"),
    [
        ("df['region'] = df['region'].astype('category')", {"region": ("North", "South", "North"), "sales": (10, 4, 7)}),
        ("df['sales'] = df['sales'].astype('Int64').where(df['sales'] > 5)", {"sales": (10, None, 7)}),
        ("df['day'] = pd.period_range('2024-01', periods=3, freq='M')", {"day": ("2024-01", "2024-02", "2024-03")}),
        ("df['span'] = pd.to_timedelta(df['sales'], unit='ns')", {"span": tuple(f"0 days 00:00:00.00000{each}" for each in ("0010", "0004", "0007"))}),
        ("df['one'] = [1, 'x', None]", {"one": (1, "x", None)}),
        ("df = df.groupby('region').sum()", {"region": ("North", "South"), "sales": (17, 4)}),
        ("df = df.set_index(['region', 'sales'])[[]]", {"region": ("North", "South", "North"), "sales": (10, 4, 7)}),
        ("df = df[df['sales'] > 5]", {"region": ("North", "North"), "sales": (10, 7)}),
        ("df = df.iloc[:0]", {"region": (), "sales": ()}),
        ("df['long'] = ['x' * 2_000_000, 'y', None]", {"long": ("x" * 2_000_000, "y", None)}),
        ("df.columns = [1, 2]", {"1": ("North", "South", "North"), "2": (10, 4, 7)}),
        ("columns['sales'] = [1, 2, 3]", {"sales": (1, 2, 3)}),
        ("df['sales'] = df['sales'] + 0", {"sales": (10, 4, 7)}),
    ],
)  # fmt: skip
def test_what_a_dataframe_became_is_returned(code: str, columns: dict[str, Any]) -> None:
    done = ask(fence(f"{code}\nresult = 'done'"), mode="edit", policy=DATA)
    assert [each.reason for each in done.attempts] == [""] and done.table is not None
    found = {name: done.table.columns[name] for name in columns}
    assert {name: tuple(map(str, each)) for name, each in found.items()} == {
        name: tuple(map(str, each)) for name, each in columns.items()
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("df = 5", "result cannot be read"),
        ("df = df['sales']", "result cannot be read"),
        ("df['made'] = [{'a': 1}, [2], {3}]", "a dict is no value of a table (row 0, column 'made')"),
        ("df.columns = ['a', 'a']", "different names"),
        ("df = df.set_index('region').rename_axis('sales')", "sales"),
        ("class A:\n    def __str__(self):\n        raise ValueError\ndf['x'] = [A(), A(), A()]", "result cannot be read"),
    ],
)
def test_what_is_no_table_any_more_goes_back(code: str, said: str) -> None:
    good = fence("df.loc[0, 'sales'] = 1\nresult = 'one'")
    done = ask(fence(f"{code}\nresult = 'done'"), good, mode="edit", policy=DATA)
    assert said in (done.attempts[0].error or "")
    assert done.table is not None and done.diff is not None and done.diff.to_dict()["cells_changed"] == 1


def test_many_long_texts_are_read_in_parts() -> None:
    rows = {"a": ["x" * 300_000] * 4, "b": ["y" * 700_000, "z", None, "w" * 1_200_000]}
    done = ask(fence("columns['a'][0] = 'new'\nresult = 1"), rows=rows, mode="edit")
    assert done.table is not None and done.table.columns["b"] == tuple(rows["b"])
    assert done.diff is not None and done.diff.to_dict()["cells_changed"] == 1


# -- what a model is told of modules, and what is refused before it is asked ---------------------------------------


@pytest.mark.parametrize("policy", ["strict", "data"])
def test_common_modules_are_there_without_an_import(policy: str) -> None:
    told: list[str] = []

    def first(messages: Any) -> str:
        told.append(messages[0]["content"])
        return fence("result = [statistics.mean(columns['sales']), collections.Counter(columns['region']).most_common(1)[0][0]]")

    assert ask(first, policy=policy).result == [7, "North"]
    assert "`import` finds" not in told[0] and "`statistics`" in told[0] and "Write no import statement;" in told[0]


def test_an_environment_or_a_question_that_is_none_is_refused_before_a_model_is_asked() -> None:
    asked: list[Any] = []
    with pytest.raises(ValueError, match="unknown environment 'nope'"):
        CodegenPipeline("scripted", {"turns": asked.append}, "nope")
    with pytest.raises(ValueError, match="the question is empty"):
        CodegenPipeline("scripted", {"turns": asked.append}).run(ROWS, " \n")
    assert asked == []
