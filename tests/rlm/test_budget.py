"""One ledger for a run and all its descendants: exact calls, bounded overshoot, upstream's exceptions."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.clients.prices import Price
from rlm_secure.errors import (
    BudgetExceededError,
    CallLimitExceededError,
    ErrorThresholdExceededError,
    PriceUnknownError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.policy import Policy, load_policy
from rlm_secure.resources import policy_names
from rlm_secure.rlm.budget import Allowance, Ledger, Meter, Records, Spent, TreeRecords, exhausted, limit_name
from rlm_secure.types import ModelUsageSummary
from tests.effort import examples
from tests.loops import scripted

PLENTY = Allowance(calls=1_000_000, tokens=10**12, cost_usd=10.0**9, seconds=10_000)


def allowance(**changes) -> Allowance:
    return Allowance(**{name: changes.get(name, getattr(PLENTY, name)) for name in PLENTY.__slots__})


def used(tokens: int = 0, cost: float | None = None) -> ModelUsageSummary:
    return ModelUsageSummary(1, tokens, 0, cost)


def test_the_runs_own_limits_only_tighten_the_policys() -> None:
    policy = Policy()
    loose = Allowance.of(policy, max_tokens=10**12, max_budget=10.0**9, max_timeout=10.0**9)
    assert loose == Allowance(policy.lm.calls, policy.lm.tokens, policy.lm.cost_usd, policy.limits.run_seconds, True)
    tight = Allowance.of(policy, max_tokens=5, max_budget=0.5, max_timeout=1.5)
    assert (tight.tokens, tight.cost_usd, tight.seconds) == (5, 0.5, 1.5)


@pytest.mark.parametrize("name", ["max_tokens", "max_budget", "max_timeout"])
def test_what_is_no_number_is_no_limit(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is no number"):
        scripted(["FINAL(1)"], **{name: float("nan")}).completion("c")


def test_without_limits_of_its_own_a_run_has_the_policys() -> None:
    policy = Policy()
    limits = (policy.lm.calls, policy.lm.tokens, policy.lm.cost_usd, policy.limits.run_seconds)
    assert Allowance.of(policy) == Allowance(*limits) == Allowance(*limits, priced=False)
    assert Allowance.of(policy, max_timeout=1.5).seconds == 1.5
    chosen = policy.model_copy(update={"lm": policy.lm.model_copy(update={"cost_usd": 0.123})})
    assert Allowance.of(chosen).priced and Allowance.of(policy, max_budget=1.0).priced
    unpriced = chosen.model_copy(update={"lm": chosen.lm.model_copy(update={"unpriced": True})})
    assert not Allowance.of(unpriced, max_budget=1.0).priced
    for name in policy_names():
        assert not Allowance.of(load_policy(name)).priced


def test_a_hundred_threads_get_exactly_as_many_calls_as_there_are() -> None:
    for _ in range(50):
        ledger = Ledger(allowance(calls=37))
        start = threading.Barrier(100)

        def take() -> bool:
            start.wait()
            try:
                reservation = ledger.reserve(10)
            except CallLimitExceededError:
                return False
            assert reservation is not None
            reservation.settle(used(1))
            return True

        with ThreadPoolExecutor(100) as pool:
            granted = sum(pool.map(lambda _: take(), range(100)))
        assert (granted, ledger.spent.calls, ledger.in_flight) == (37, 37, 0)


def test_what_is_left_is_held_by_the_calls_in_flight() -> None:
    exact = Ledger(allowance(tokens=357))
    assert exact.reserve(400) is not None and exact.reserve(0) is None, "its estimate is all there is"
    ledger = Ledger(allowance(tokens=1_000))
    first = ledger.reserve(3_996)
    assert first is not None
    assert ledger.reserve(4) is None
    first.settle(used(100))
    assert ledger.reserve(4) is not None


def test_a_call_is_never_refused_for_an_estimate_alone() -> None:
    ledger = Ledger(allowance(tokens=1, cost_usd=0.000001))
    reservation = ledger.reserve(10**9)
    assert reservation is not None
    reservation.settle(used(1))
    with pytest.raises(TokenLimitExceededError):
        ledger.reserve(1)


def test_calls_one_after_another_overshoot_by_one_call() -> None:
    ledger = Ledger(allowance(cost_usd=1.0))
    made = 0
    for _ in range(100):
        try:
            reservation = ledger.reserve(400)
        except BudgetExceededError:
            break
        assert reservation is not None
        made += 1
        reservation.settle(used(100, 0.3))
    assert made == 4
    assert ledger.spent.cost_usd == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("end", "tokens"), [("settle", 7), ("lose", 357), ("refuse", 0)], ids=["answered", "cut off", "refused"]
)
def test_how_a_call_ended_decides_what_is_charged(end: str, tokens: int) -> None:
    ledger = Ledger(PLENTY)
    reservation = ledger.reserve(400)
    assert reservation is not None
    if end == "settle":
        reservation.settle(used(7))
    else:
        getattr(reservation, end)()
    reservation.lose()
    assert (ledger.spent.calls, ledger.spent.tokens, ledger.in_flight) == (1, tokens, 0)


def test_an_estimate_goes_by_what_tokens_have_cost_and_by_the_longest_reply() -> None:
    ledger = Ledger(PLENTY)
    first, second = ledger.reserve(400), ledger.reserve(0)
    assert first is not None and second is not None
    assert (first.tokens, first.cost_usd) == (357, 0.0)
    first.settle(ModelUsageSummary(1, 100, 300, 8.0))
    second.settle(ModelUsageSummary(1, 0, 10, None))
    assert (ledger.spent.input_tokens, ledger.spent.output_tokens, ledger.spent.tokens) == (100, 310, 410)
    third = ledger.reserve(400)
    assert third is not None
    assert (third.tokens, third.cost_usd) == (401, pytest.approx(401 * 8.0 / 410))
    third.lose()
    assert (ledger.spent.tokens, ledger.spent.cost_usd) == (811, pytest.approx(8.0 + 401 * 8.0 / 410))
    assert (ledger.spent.input_tokens, ledger.spent.output_tokens) == (501, 310)


def test_the_cost_of_a_call_that_ended_is_held_no_longer_and_that_of_others_is() -> None:
    ledger = Ledger(allowance(cost_usd=10.0))
    price = Price(input=0.0, output=1_000_000.0)  # a dollar a token
    first, second = ledger.reserve(0, price, 4), ledger.reserve(0, price, 5)
    assert first is not None and second is not None
    assert (first.cost_usd, second.cost_usd) == (4.0, 5.0)
    assert ledger.reserve(0, price, 2) is None, "4 and 5 are held of 10"
    first.settle(ModelUsageSummary(1, 0, 1, 1.0))
    assert ledger.reserve(0, price, 5) is None, "1 is spent and 5 are held"
    third = ledger.reserve(0, price, 4)
    assert third is not None, "all of it, and no more"
    for each in (second, third):
        each.refuse()
    assert ledger.spent.cost_usd == 1.0
    with pytest.raises(BudgetExceededError, match=r"spent \$1\.000000 of \$10\.000000 budget, and .* up to \$10\.000000"):
        ledger.reserve(0, price, 10)
    assert ledger.reserve(0, price, 9) is not None


def test_a_price_without_a_longest_reply_is_an_estimate() -> None:
    ledger = Ledger(allowance(cost_usd=10.0))
    price = Price(input=0.0, output=1_000_000.0)
    first = ledger.reserve(0, price)
    assert first is not None and first.cost_usd == 256.0
    assert ledger.reserve(0, price) is None, "what is in flight holds more than there is"
    first.refuse()
    assert ledger.reserve(0, price) is not None


def test_without_a_price_the_longest_reply_bounds_nothing() -> None:
    ledger = Ledger(allowance(cost_usd=0.6))
    first = ledger.reserve(0)
    assert first is not None
    first.settle(used(1, 0.5))
    assert ledger.reserve(400, None, 5) is not None, "its estimate alone refuses no call"
    dear = Price(input=0.0, output=1_000_000.0)
    assert Ledger(allowance(cost_usd=0.0)).reserve(0, dear) is not None, "nor does one by a price"


def test_who_cannot_say_what_it_costs_waits_for_those_who_hold_all() -> None:
    ledger = Ledger(allowance(cost_usd=10.0))
    first = ledger.reserve(0, Price(input=0.0, output=1_000_000.0), 10)
    assert first is not None and first.cost_usd == 10.0
    assert ledger.reserve(0) is None
    first.refuse()
    assert ledger.reserve(0) is not None


def test_calls_and_dollars_end_exactly() -> None:
    ledger = Ledger(allowance(calls=2))
    assert ledger.reserve(1) is not None and ledger.reserve(1) is not None
    with pytest.raises(CallLimitExceededError, match="Call limit reached: 2 of 2 model calls"):
        ledger.reserve(1)
    ledger = Ledger(allowance(cost_usd=0.5))
    first = ledger.reserve(1)
    assert first is not None
    first.settle(used(1, 0.5))
    with pytest.raises(BudgetExceededError, match=r"\$0\.5"):
        ledger.check_rest()


def test_dollars_that_are_held_leave_no_trace() -> None:
    ledger = Ledger(PLENTY)
    held = [ledger.reserve(0, Price(input=0.0, output=100_000.0), count) for count in (1, 2)]
    for each in held:
        assert each is not None
        each.refuse()
    assert ledger._held_cost == 0.0, "0.1 + 0.2 - 0.1 - 0.2 is not"


def test_a_completion_ends_with_its_tree() -> None:
    meter = Meter(Ledger(allowance(seconds=-1.0)), iterations=7, errors=1)
    meter.count(None)
    with pytest.raises(TimeoutExceededError, match="after iteration 1: ") as raised:
        meter.check("p")
    assert raised.value.partial_answer == "p"


def test_what_costs_nothing_is_allowed_where_nothing_is_left() -> None:
    ledger = Ledger(allowance(cost_usd=0.0))
    free = Price(input=0.0, output=0.0)
    for _ in range(2):
        assert ledger.reserve(10, free, 10) is not None, "however many are in flight"
    with pytest.raises(BudgetExceededError, match="Budget exceeded: spent"):
        Ledger(allowance(cost_usd=0.5)).reserve(0, Price(input=0.0, output=1_000_000.0), 1)


def test_an_unknown_price_ends_a_run_for_the_first_reason() -> None:
    ledger = Ledger(PLENTY)
    ledger.refuse_unknown(PriceUnknownError("first", "nobody knows what first costs"))
    ledger.refuse_unknown(PriceUnknownError("second", "nobody knows what second costs"))
    for check in (ledger.check_rest, lambda: ledger.reserve(1)):
        with pytest.raises(PriceUnknownError, match="nobody knows what first costs") as raised:
            check()
        assert raised.value.model == "first"
    assert limit_name(raised.value) == "cost"


def test_a_record_that_has_no_room_is_told_no() -> None:
    ledger = Ledger(Allowance(1, 1, 1.0, 60))
    assert ledger.keep(10, 10) is True and ledger.keep(1, 10) is False


def test_a_call_that_is_too_dear_is_an_error_with_its_cost() -> None:
    with pytest.raises(BudgetExceededError):
        Ledger(Allowance(1, 1, 1.0, 60)).refuse_dear(2.0)


def test_a_ledger_begins_when_it_is_told() -> None:
    now = time.monotonic()
    with pytest.raises(TimeoutExceededError):
        Ledger(Allowance(1, 1, 1.0, 60), started=now - 61).check()
    Ledger(Allowance(1, 1, 1.0, 60), started=now).check()


def test_records_take_room_and_never_give_it_back() -> None:
    records = Records(10)
    assert (records.kept, records.limit) == (0, 10)
    assert records.take(6) is True and records.take(5) is False and records.take(4) and not records.take(1)
    assert records.kept == 10
    assert records.take(0)


def test_refused_calls_and_records_are_of_the_whole_tree_wherever_it_runs() -> None:
    ledger = Ledger(PLENTY)
    records = TreeRecords(10, ledger)
    assert [ledger.refused_call(), ledger.refused_call()] == [1, 2]
    assert records.take(6) and not records.take(5)
    ledger.add(Spent(1, 2, 3, 0.5, 7, 3))  # of another machine
    assert (records.kept, ledger.refused_call()) == (9, 10)
    assert not records.take(2) and records.take(1)
    assert ledger.spent == Spent(1, 2, 3, 0.5, 10, 10)
    assert ledger.spent - Spent(1, 1, 1, 0.25, 4, 6) == Spent(0, 1, 2, 0.25, 6, 4)


def test_the_last_error_of_a_completion_is_kept() -> None:
    meter = Meter(Ledger(PLENTY), iterations=7, errors=None)
    meter.count("a")
    meter.count(None)
    meter.check("p")
    assert (meter.last_error, meter.errors, meter.iterations, meter.max_iterations) == ("a", 0, 2, 7)


def test_time_is_up_at_the_deadline() -> None:
    now = [100.0]
    ledger = Ledger(allowance(seconds=5), clock=lambda: now[0])
    assert ledger.reserve(1) is not None
    now[0] = 105.0
    with pytest.raises(TimeoutExceededError) as caught:
        ledger.reserve(1)
    assert (caught.value.elapsed, caught.value.timeout) == (5.0, 5)
    assert ledger.seconds_left == 0


@pytest.mark.parametrize(
    ("limits", "usage", "kind", "words"),
    [
        ({"cost_usd": 0.5}, used(1, 0.6), BudgetExceededError, "Budget exceeded after iteration 3: spent $0.600000 of"),
        (
            {"tokens": 1_000},
            used(1_001),
            TokenLimitExceededError,
            "Token limit exceeded after iteration 3: 1,001 of 1,000",
        ),
        ({"seconds": 0.0}, used(), TimeoutExceededError, "Timeout exceeded after iteration 3: "),
    ],
)
def test_a_crossed_limit_is_upstreams_exception_with_the_partial_answer(limits, usage, kind, words) -> None:
    ledger = Ledger(allowance(seconds=limits.pop("seconds", 100), **limits))
    reservation = Ledger.reserve(ledger, 0) if ledger.allowance.seconds else None
    if reservation is not None:
        reservation.settle(usage)
    with pytest.raises(kind) as caught:
        ledger.check(after=3, partial_answer="so far")
    assert str(caught.value).startswith(words)
    assert caught.value.partial_answer == "so far"


def test_a_limit_that_is_used_up_exactly_is_not_crossed() -> None:
    ledger = Ledger(allowance(tokens=100, cost_usd=1.0))
    reservation = ledger.reserve(0)
    assert reservation is not None
    reservation.settle(used(100, 1.0))
    ledger.check()
    with pytest.raises(TokenLimitExceededError):
        ledger.check_rest()
    now = [0.0]
    timed = Ledger(allowance(seconds=5), clock=lambda: now[0])
    now[0] = 5.0
    timed.check()
    with pytest.raises(TimeoutExceededError):
        timed.check_rest()
    assert timed.elapsed == 5.0


def test_no_budget_at_all_still_allows_what_costs_nothing() -> None:
    ledger = Ledger(allowance(cost_usd=0.0))
    for _ in range(3):
        reservation = ledger.reserve(1)
        assert reservation is not None
        reservation.settle(used(1))
    ledger.check()


def test_errors_count_in_a_row() -> None:
    meter = Meter(Ledger(PLENTY), iterations=30, errors=2)
    for error in ("a", None, "b"):
        meter.count(error)
        meter.check("p")
    meter.count("c")
    with pytest.raises(
        ErrorThresholdExceededError, match=r"after iteration 4: 2 consecutive errors \(limit: 2\)"
    ) as caught:
        meter.check("p")
    assert (caught.value.error_count, caught.value.threshold) == (2, 2)
    assert (caught.value.last_error, caught.value.partial_answer) == ("c", "p")


@pytest.mark.parametrize(
    ("error", "name", "text"),
    [
        (BudgetExceededError(0.5, 0.25), "cost", "Error: Budget exhausted (spent $0.500000 of $0.250000)"),
        (TimeoutExceededError(5.04, 5.0), "time", "Error: Timeout exhausted (5.0s of 5.0s)"),
        (TokenLimitExceededError(1001, 1000), "tokens", "Error: Token limit exceeded: 1,001 of 1,000 tokens"),
        (CallLimitExceededError(10, 10, 0.0, 1.0), "calls", "Error: Call limit reached: 10 of 10 model calls;"),
        (ErrorThresholdExceededError(3, 3), "errors", "Error: Error threshold exceeded"),
    ],
)
def test_a_cell_reads_upstreams_words(error: Exception, name: str, text: str) -> None:
    assert limit_name(error) == name
    assert exhausted(error).startswith(text)


def test_a_call_limit_is_caught_where_a_budget_is() -> None:
    with pytest.raises(BudgetExceededError):
        raise CallLimitExceededError(1, 1, 0.0, 1.0)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["settle", "lose", "refuse", "keep"]), st.integers(0, 10**6), st.floats(0, 10)),
        max_size=60,
    )
)
def test_whatever_happens_the_books_balance(steps) -> None:
    ledger = Ledger(allowance(calls=40, tokens=10**7, cost_usd=50.0))
    kept, made, tokens = [], 0, 0
    for end, size, cost in steps:
        try:
            reservation = ledger.reserve(size)
        except (BudgetExceededError, TokenLimitExceededError):
            continue
        if reservation is None:
            assert kept
            continue
        made += 1
        if end == "keep":
            kept.append(reservation)
        elif end == "settle":
            tokens += size
            reservation.settle(used(size, cost))
        elif end == "lose":
            tokens += reservation.tokens
            reservation.lose()
        else:
            reservation.refuse()
    for reservation in kept:
        reservation.refuse()
    assert ledger.spent.calls == made <= 40
    assert ledger.spent.tokens == tokens
    assert ledger.in_flight == 0
    assert (ledger._held_tokens, round(ledger._held_cost, 6)) == (0, 0)
