"""What every backend shares, and how a foreign one is adapted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from rlm_secure.clients import BaseLM, Client, adapt
from rlm_secure.clients.base import Completion, InThread, Tally, call_usage, in_thread, minus, plus
from rlm_secure.errors import ProviderError
from rlm_secure.logger import RLMLogger
from rlm_secure.types import ModelUsageSummary, UsageSummary
from tests.loops import cell, scripted


class Upstream(BaseLM):
    """A subclass as upstream's users write it: four methods, no usage per call."""

    def __init__(self) -> None:
        super().__init__(model_name="theirs")
        self.calls = 0

    def completion(self, prompt) -> str:
        self.calls += 1
        return f"answer {self.calls}"

    async def acompletion(self, prompt) -> str:
        await asyncio.sleep(0)
        return self.completion(prompt)

    def get_usage_summary(self) -> UsageSummary:
        return UsageSummary({"theirs": ModelUsageSummary(self.calls, 10 * self.calls, self.calls, 0.5 * self.calls)})

    def get_last_usage(self) -> ModelUsageSummary:
        return ModelUsageSummary(1, 10, 1, 0.5)


def test_an_upstream_client_gets_usage_per_call_from_its_totals() -> None:
    client = adapt(Upstream())
    first, second = client.complete("q"), asyncio.run(client.acomplete("q"))
    assert (first.text, second.text) == ("answer 1", "answer 2")
    for each in (first, second):
        assert each.usage == ModelUsageSummary(1, 10, 1, 0.5)
        assert each.model == "theirs"


def test_a_mock_with_upstreams_methods_is_a_client() -> None:
    mock = Mock()
    mock.completion.side_effect = ["one", "two"]
    mock.get_usage_summary.return_value = UsageSummary({"mock": ModelUsageSummary(1, 100, 50)})
    client = adapt(mock)
    first, second = asyncio.run(client.acomplete("q")), asyncio.run(client.acomplete("q"))
    assert [first.text, second.text] == ["one", "two"]
    assert [first.usage.total_input_tokens, second.usage.total_input_tokens] == [100, 0]
    assert client.get_usage_summary().model_usage_summaries["mock"].total_calls == 2


def test_a_client_that_returns_no_text_is_a_provider_error() -> None:
    mock = Mock()
    mock.completion.return_value = None
    with pytest.raises(ProviderError, match="NoneType"):
        adapt(mock).complete("q")


def test_a_foreign_client_serves_only_its_own_model() -> None:
    client = adapt(Upstream())
    assert client.complete("q", model="theirs").text == "answer 1"
    with pytest.raises(ProviderError, match="'other'"):
        client.complete("q", model="other")


def test_a_client_is_adapted_once() -> None:
    client = adapt(Upstream())
    assert adapt(client) is client
    assert isinstance(client, Client)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), StopIteration()])
def test_what_no_future_can_hold_is_carried_out_of_a_thread(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(InThread) as caught:
        asyncio.run(in_thread(fail))
    assert caught.value.cause is error


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0, True, "0.1", None, 0])
def test_a_cost_that_is_no_amount_is_no_cost(cost) -> None:
    assert call_usage(1, 1, cost).total_cost is None


def test_usage_adds_and_subtracts_without_changing_its_operands() -> None:
    left, right = ModelUsageSummary(1, 2, 3), ModelUsageSummary(1, 1, 1, 0.5)
    assert plus(left, right) == ModelUsageSummary(2, 3, 4, 0.5)
    assert minus(plus(left, right), left) == ModelUsageSummary(1, 1, 1, 0.5)
    assert minus(left, plus(left, right)) == ModelUsageSummary(0, 0, 0)
    assert left == ModelUsageSummary(1, 2, 3)


def test_a_summary_is_a_copy() -> None:
    tally = Tally()
    tally.add("m", ModelUsageSummary(1, 1, 1))
    summary = tally.summary()
    tally.add("m", ModelUsageSummary(1, 1, 1))
    assert summary.model_usage_summaries["m"].total_calls == 1


def test_half_of_a_surrogate_pair_in_a_reply_is_replaced() -> None:
    completion = Completion("a\ud800b \U0001f600", "m", ModelUsageSummary(1, 0, 0))
    assert (completion.text[0], completion.text[-3:]) == ("a", "b \U0001f600")
    completion.text.encode("utf-8")


def test_half_of_a_surrogate_pair_reaches_neither_answer_nor_log(tmp_path: Path) -> None:
    turns = [cell("r = llm_query('q \ud83d')\nprint(r)\nfinal_answer(r)")]
    completion = scripted(turns, "reply \udc00", logger=RLMLogger(tmp_path)).completion("c \ud800")
    assert completion.response.startswith("reply ")
    completion.response.encode("utf-8")
    (file,) = tmp_path.iterdir()
    file.read_bytes().decode("ascii")
