"""What a call costs where no provider says: exact names, a dated table, and limits that hold before the call."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure import clients
from rlm_secure.clients.prices import REPORTED, Price, Prices, taken
from rlm_secure.errors import BudgetExceededError, PriceUnknownError
from rlm_secure.events import Noticed
from rlm_secure.policy.model import Policy
from rlm_secure.rlm.budget import Allowance, Ledger
from rlm_secure.rlm.rlm import RLM
from rlm_secure.types import ModelUsageSummary
from tests.effort import examples
from tests.loops import Heard, cell, scripted
from tests.servers.openai_server import OpenAIServer

TABLE = tomllib.loads((Path(clients.__file__).parent / "prices.toml").read_text("utf-8"))
PROVIDERS = {name: entry for name, entry in TABLE.items() if isinstance(entry, dict)}
KNOWN = [name for entry in PROVIDERS.values() for name in entry["models"]]
DOLLAR = Price(1_000_000.0, 1_000_000.0)  # a dollar a token


# -- the table -------------------------------------------------------------------------------------------


def test_the_table_has_a_day_and_sources() -> None:
    assert date(2026, 11, 1) < taken() <= datetime.now(UTC).date()
    assert {"openai", "anthropic", "google"} <= set(PROVIDERS)
    assert all(entry["source"].startswith("https://") and entry["prefixes"] for entry in PROVIDERS.values())


@pytest.mark.parametrize("name", KNOWN)
def test_every_price_is_one(name: str) -> None:
    price = Prices().of(name)
    assert isinstance(price, Price)
    assert 0 < price.input <= price.output <= 1_000
    if price.above is not None:
        assert price.long_input >= price.input and price.long_output >= price.output
        assert price.cost(price.above + 1, 1) > price.cost(price.above, 1)


@pytest.mark.parametrize(
    ("name", "same_as"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("openai/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("gemini/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini-2.5-pro-001", "gemini-2.5-pro"),
    ],
)
def test_a_name_may_carry_its_provider_and_its_date(name: str, same_as: str) -> None:
    assert Prices().of(name) == Prices().of(same_as) is not None


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-latest", "gpt-4o-huge", "gpt-4", "xgpt-4o", "gpt", "", "ft:gpt-4o:mine", "anthropic/gpt-4o", "GPT-4O",
        "openrouter/openai/gpt-4o", "gpt-4o-2024-08-06-2024-08-06", "gpt-4o ", "gpt-4o-2024", "llama-3", "openai/",
    ],
)  # fmt: skip
def test_nothing_else_is_taken_for_a_known_model(name: str) -> None:
    assert Prices().of(name) != Prices().of("gpt-4o")
    if name != "gpt-4":
        assert Prices().of(name) is None


def test_a_snapshot_with_a_price_of_its_own_has_that() -> None:
    assert Prices().of("gpt-4o-2024-05-13").input > Prices().of("gpt-4o").input


@settings(max_examples=examples(200))
@given(st.text(max_size=40) | st.sampled_from(KNOWN).flatmap(lambda name: st.text(max_size=6).map(lambda t: name + t)))
def test_any_name_is_known_exactly_or_not_at_all(name: str) -> None:
    base = re.sub(r"(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-\d{3})\Z", "", name.partition("/")[2] or name)
    plain = {name, base, name.partition("/")[2]}
    assert (Prices().of(name) is not None) <= bool(plain & set(KNOWN))


def test_given_prices_come_first_and_are_checked() -> None:
    prices = Prices({"gpt-4o": (1, 2.5), "mine": Price(0.0, 0.0), "theirs": "reported"})
    assert (prices.of("gpt-4o"), prices.of("mine"), prices.of("theirs")) == (Price(1.0, 2.5), Price(0.0, 0.0), REPORTED)
    assert prices.of("gpt-4o-2024-08-06") == Prices().of("gpt-4o")  # exact, as everywhere
    for wrong in [1.0, (1,), (1, 2, 3), (-1, 1), (float("nan"), 1), ("1", "2"), "free", None, (True, 1)]:
        with pytest.raises(ValueError, match=r"prices\['m'\] is no price"):
            Prices({"m": wrong})


def test_most_is_never_less_than_what_text_can_cost() -> None:
    price = Price(2.0, 8.0)
    text = "é" * 1_000  # a tokenizer may make a token of each byte
    assert price.most(len(text.encode()), 100) >= price.cost(2_000, 100)


# -- the ledger ------------------------------------------------------------------------------------------


def ledger(cost: float) -> Ledger:
    return Ledger(Allowance(calls=1_000, tokens=10**9, cost_usd=cost, seconds=1_000, priced=True))


def test_a_call_that_the_rest_cannot_pay_for_is_not_made() -> None:
    books = ledger(1_000.0)
    with pytest.raises(BudgetExceededError, match=r"the next call may cost up to \$1,?0\d\d"):
        books.reserve(10, DOLLAR, 1_000)
    assert books.spent.calls == 0
    first = books.reserve(10, DOLLAR, 500)
    assert first is not None
    first.settle(ModelUsageSummary(1, 10, 400, 410.0))
    second = books.reserve(10, DOLLAR, 500)
    assert second is not None
    second.settle(ModelUsageSummary(1, 10, 500, 510.0))
    with pytest.raises(BudgetExceededError):
        books.reserve(1, DOLLAR, 50)
    assert books.spent.cost_usd == 920.0


def test_what_calls_in_flight_may_cost_is_held_until_they_end() -> None:
    books = ledger(1_000.0)
    first = books.reserve(1, DOLLAR, 600)
    assert first is not None
    assert books.reserve(1, DOLLAR, 600) is None
    first.settle(ModelUsageSummary(1, 1, 1, 2.0))
    assert books.reserve(1, DOLLAR, 600) is not None


def test_a_call_that_was_cut_off_is_charged_what_it_can_have_cost() -> None:
    books = ledger(1_000.0)
    reservation = books.reserve(100, DOLLAR, 200)
    assert reservation is not None
    reservation.lose()
    assert books.spent.cost_usd >= 300.0


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.booleans()), max_size=30))
def test_with_known_prices_the_limit_is_never_crossed(steps: list[tuple[int, int, bool]]) -> None:
    books = ledger(1_000.0)
    for prompt, reply, lost in steps:
        try:
            reservation = books.reserve(prompt, DOLLAR, 300)
        except BudgetExceededError:
            continue
        assert reservation is not None
        if lost:
            reservation.lose()
        else:
            reservation.settle(ModelUsageSummary(1, prompt, reply, DOLLAR.cost(prompt, reply)))
        assert books.spent.cost_usd <= 1_000.0


# -- runs ------------------------------------------------------------------------------------------------


def served(server: OpenAIServer, model: str = "gpt-4o", **more: Any) -> RLM:
    kwargs: Mapping[str, Any] = {"api_key": "k", "model_name": model, "base_url": server.base_url}
    return RLM(backend_kwargs=kwargs, **more)


def counted(read: int, written: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written, **more}


def test_a_budget_holds_where_the_provider_reports_no_cost() -> None:
    with OpenAIServer(reply="thinking", usage=counted(100_000, 1_000)) as server:
        with pytest.raises(BudgetExceededError) as caught:
            served(server, max_budget=0.6).completion("c")
        assert len(server.requests) == 3  # 0.26 dollars each
    assert caught.value.spent == pytest.approx(0.78)


def test_the_policys_own_limit_holds_as_well_and_the_cost_is_in_the_summary() -> None:
    with OpenAIServer(reply="FINAL(x)", usage=counted(100_000, 1_000)) as server:
        completion = served(server).completion("c")
        assert completion.usage_summary.total_cost == pytest.approx(0.26)
        assert completion.notices == []
        tight = Policy.model_validate({"name": "t", "lm": {"cost_usd": 0.1}})
        with pytest.raises(BudgetExceededError):
            RLM(
                backend_kwargs={"api_key": "k", "model_name": "gpt-4o", "base_url": server.base_url,
                                "sampling_args": {"max_tokens": 1_000_000}},
                policy=tight,
            ).completion("c")  # fmt: skip
        assert len(server.requests) == 1  # the second run asked nobody


def test_a_reported_cost_comes_before_the_table() -> None:
    with OpenAIServer(reply="FINAL(x)", usage=counted(100_000, 1_000, cost=0.5)) as server:
        assert served(server).completion("c").usage_summary.total_cost == 0.5


@pytest.mark.parametrize("limit", [{"max_budget": 1.0}, {"policy": Policy.model_validate({"name": "t", "lm": {"cost_usd": 1.0}})}])
def test_a_cost_limit_that_could_not_hold_is_refused_before_the_first_call(limit: dict[str, Any]) -> None:
    with OpenAIServer() as server:
        with pytest.raises(PriceUnknownError, match=r"the price of the model 'm' is unknown"):
            served(server, "m", **limit).completion("c")
        assert server.requests == []


def test_the_policy_may_allow_it_and_the_completion_says_that_the_limit_is_partial() -> None:
    heard = Heard()
    policy = Policy.model_validate({"name": "t", "lm": {"unpriced": True}})
    with OpenAIServer(reply="FINAL(x)") as server:
        completion = served(server, "m", max_budget=1.0, policy=policy, on_event=heard).completion("c")
    (notice,) = completion.notices
    assert (notice.kind, notice.message.partition(":")[0]) == ("bounded-spend", "partial")
    assert [event.kind for event in heard.of(Noticed)] == ["bounded-spend"]


def test_a_shipped_limit_that_nobody_chose_is_a_notice() -> None:
    with OpenAIServer(reply="FINAL(x)") as server:
        assert [each.kind for each in served(server, "m").completion("c").notices] == ["bounded-spend"]


def test_a_price_that_is_given_makes_the_limit_hold() -> None:
    with OpenAIServer(reply="thinking", usage=counted(1_000, 0)) as server:
        with pytest.raises(BudgetExceededError):
            served(server, "m", max_budget=1.0, prices={"m": (400.0, 400.0)}).completion("c")
        assert len(server.requests) == 3
        completion = served(server, "m", max_budget=1.0, prices={"m": (0, 0)}, max_iterations=1).completion("c")
    assert (completion.response, [each.kind for each in completion.notices]) == ("thinking", ["nothing-ran"])


def test_a_provider_that_stops_reporting_ends_the_run() -> None:
    with OpenAIServer(reply="thinking", usage=counted(10, 10)) as server:
        with pytest.raises(PriceUnknownError) as caught:
            served(server, "m", max_budget=1.0, prices={"m": "reported"}).completion("c")
        assert len(server.requests) == 1
    assert caught.value.partial_answer == "thinking"


def test_a_model_that_a_cell_names_is_looked_up_too() -> None:
    code = "print(llm_query('q', model='nameless'))\nfinal_answer(llm_query('q', model='nameless'))"
    policy = Policy.model_validate({"name": "t", "lm": {"models": ("nameless",)}})
    with OpenAIServer(reply=cell(code)) as server:
        completion = served(server, max_budget=1.0, policy=policy).completion("c")
        assert {request.body["model"] for request in server.requests} == {"gpt-4o"}
    assert completion.response.startswith("Error: the price of the model 'nameless' is unknown")


def test_a_backend_that_costs_nothing_needs_no_price() -> None:
    assert scripted(["FINAL(x)"], max_budget=0.01).completion("c").notices == []


def test_children_know_the_prices_of_their_root() -> None:
    rlm = RLM(prices={"m": (1, 2)})
    from rlm_secure.rlm.children import child_of

    assert child_of(rlm.config, None).prices.of("m") == Price(1.0, 2.0)
