"""Records of the standard logging: what happened, and nothing of what was said."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from rlm_secure import RLM, Sandbox
from rlm_secure.types import ModelUsageSummary, REPLResult, RLMChatCompletion, UsageSummary

SECRET = "sesame-7311"


def test_a_run_is_told_without_what_was_said_in_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rlm_secure")
    turns = [
        f"```repl\nprint('{SECRET}'); x = llm_query('{SECRET}')\nopen('{SECRET}')\n```",
        f"```repl\nfinal_answer('{SECRET}')\n```",
    ]
    with RLM(backend="scripted", backend_kwargs={"turns": turns, "replies": {}, "default": SECRET}) as rlm:
        assert rlm.completion(SECRET).response == SECRET
    told = [record.getMessage() for record in caplog.records]
    for part in ("a run began: model", "turn 1, cell 1 took", "the run ended", "cell 1 took", "refused by removed-builtin"):
        assert any(part in each for each in told), part
    assert not any(SECRET in each for each in told)
    assert {record.name for record in caplog.records} == {"rlm_secure.rlm", "rlm_secure.session"}


def test_a_session_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rlm_secure.session")
    with Sandbox() as sandbox:
        sandbox.run(f"x = '{SECRET}'\n1 / 0")
    begun, cell, ended = (record.getMessage() for record in caplog.records)
    assert "environment local, policy strict" in begun
    assert ", cell 1 took" in cell and cell.endswith(": CellException")
    assert ended.endswith("ended after 1 cell")


def test_nothing_is_told_if_nobody_asks(caplog: pytest.LogCaptureFixture) -> None:
    with Sandbox() as sandbox:
        sandbox.run("1")
    assert caplog.records == []


def _call(model: str, cost: float | None) -> RLMChatCompletion[Any]:
    used = ModelUsageSummary(1, 10, 5, cost)
    return RLMChatCompletion(model, "p", "r", UsageSummary({model: used}), 0.1)


def test_a_result_says_what_its_calls_cost() -> None:
    result = REPLResult("", "", {}, rlm_calls=[_call("a", 0.25), _call("a", 0.5), _call("b", None)])
    assert result.cost_usd == 0.75
    assert (result.usage.total_calls, result.usage.total_input_tokens, result.usage.total_output_tokens) == (3, 30, 15)
    assert result.usage.model_usage_summaries["b"].total_cost is None
    assert REPLResult("", "", {}).cost_usd is None
