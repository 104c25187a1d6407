"""The benchmarks run: each case, and twice where that takes no time."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence

import pytest

from benchmarks import goals, runner

#: Three clusters of Ray are half a minute of a processor: tests/scale and the page on Ray run batches on Ray as well.
LONG = ("ray-64",)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.exhaustive if each in LONG else ()) for each in runner.collect()]
)
def test_every_benchmark_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["--smoke", name]) == 0
    assert "ratio" in capsys.readouterr().out


def test_ratios_are_to_the_first_case(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def spend(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(runner.time, "perf_counter", lambda: now)

    def cases() -> Iterator[Sequence[runner.Case]]:
        yield [
            runner.Case("one", lambda: spend(0.02)),
            runner.Case("ten at a time, each half as long", lambda: spend(0.1), 10),
        ]

    one, ten = runner.measure(runner.Benchmark("units", "", cases), smoke=True)
    assert (one.ratio, ten.ratio) == (1.0, pytest.approx(0.5))
    assert one.rounds == ten.rounds == runner.SMOKE_ROUNDS


def test_what_takes_its_time_is_seen_to_work_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(runner.time, "perf_counter", lambda: now[0])

    def spend(seconds: float) -> None:
        now[0] += seconds

    def cases() -> Iterator[Sequence[runner.Case]]:
        yield [runner.Case("short", lambda: spend(0.1)), runner.Case("long", lambda: spend(0.11))]

    assert [line.rounds for line in runner.measure(runner.Benchmark("both", "", cases), smoke=True)] == [2, 1]


def test_a_failing_case_is_reported_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned = []

    def cases() -> Iterator[Sequence[runner.Case]]:
        try:
            yield [runner.Case("broken", lambda: 1 / 0)]
        finally:
            cleaned.append(True)

    monkeypatch.setattr(runner, "collect", lambda: {"bad": runner.Benchmark("bad", "", cases)})
    assert runner.main(["--smoke"]) == 1
    assert "bad: FAILED: ZeroDivisionError" in capsys.readouterr().err
    assert cleaned == [True]


def test_unknown_names_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["nothing"]) == 2
    assert "no benchmark called 'nothing'" in capsys.readouterr().err
    assert runner.main(["--smoke", "--json", "llm-query"]) == 0
    assert [line["case"] for line in json.loads(capsys.readouterr().out)["llm-query"]] == [
        "exec in this process",
        "a cell in a local session",
    ]


def test_the_page_of_goals_says_what_is_met_and_what_its_floor_forbids(monkeypatch: pytest.MonkeyPatch) -> None:
    every = goals.rows()
    assert len(every) > 50

    def measured(median: float, floor: float) -> dict[str, dict[str, runner.Line]]:
        line = runner.Line("", median, median, 1, median)
        least = runner.Line("", floor, floor, 1, floor)
        return {"row": {"ours": line, "least": least}}

    goal = goals.Goal("Part", "what", 1.0, "x", lambda found: found["row"]["ours"].median)
    beside = dataclasses.replace(goal, floor=goals.Floor("the least", lambda found: found["row"]["least"].median))
    assert goals.verdict(goal, measured(1.0, 0.5)) == "met"
    assert goals.verdict(goal, measured(1.1, 1.05)) == goals.verdict(beside, measured(1.1, 0.9)) == "missed"
    assert goals.verdict(beside, measured(1.1, 1.05)) == "missed; the floor forbids it here"
    monkeypatch.setattr(goals, "GOALS", (goal, beside))
    page = goals.page(measured(1.1, 1.05), 0.5, 481.0)
    assert "| Part | what | 1 x | 1.10 x | 1.05 x | missed; the floor forbids it here |" in page
    assert "| 480 s | 481 s | | missed |" in page and "Floor: the least." in page
