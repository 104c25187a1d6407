"""Leases: what several nodes spend together is never over, exact at the end, and what a dead node held comes back."""

from __future__ import annotations

import math
import random
import threading
import time

import pytest

from rlm_secure.clients.prices import Price
from rlm_secure.errors import (
    BudgetExceededError,
    CallLimitExceededError,
    PriceUnknownError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.rlm.budget import LIMITS, Allowance, Ledger, Reservation, Spent
from rlm_secure.scale.leases import Account, Amount, LeasedLedger, LeaseNeed, Leases
from rlm_secure.types import ModelUsageSummary

PRICE = Price(1.0, 2.0)
DEAR = LeaseNeed((4_000_000, PRICE, 100), 1_000_100, 4.0, True)


class World:
    """A driver and its nodes, whose messages arrive when the test says so."""

    def __init__(self, nodes: int = 2, *, calls: int = 100, tokens: int = 10**6, cost: float = 10.0, seconds: float = 60) -> None:
        self.ledger = Ledger(Allowance(calls, tokens, cost, seconds))
        self.leases = Leases(self.ledger)
        self.needs: dict[str, list[LeaseNeed]] = {}
        self.nodes: dict[str, LeasedLedger] = {}
        for name in "abcdefgh"[:nodes]:
            self.leases.join(name)
            asked = self.needs[name] = []
            self.nodes[name] = LeasedLedger(
                self.ledger.allowance, deadline=time.time() + seconds, ask=asked.append, changed=lambda: None
            )

    def report(self) -> None:
        for name, node in self.nodes.items():
            self.leases.report(name, node.account)

    def serve(self) -> None:
        """What the driver does in one turn."""
        self.report()
        for name, asked in self.needs.items():
            for need in list(asked):
                try:
                    amount = self.leases.lease(name, need)
                except LIMITS as error:
                    self.nodes[name].refused(need.kind, error, self.leases.others(name))
                else:
                    if amount is None:
                        continue
                    self.nodes[name].given(need.kind, amount, self.leases.others(name))
                asked.remove(need)

    def call(self, name: str, *kind: object) -> Reservation:
        """A call that may be made, on a node that asks until it may."""
        for _ in range(9):
            reservation = self.nodes[name].reserve(*(kind or (400,)))
            if reservation is not None:
                return reservation
            self.serve()
            if self.needs[name]:  # it must wait: all give back, as they are told
                for node in self.nodes.values():
                    node.give_back()
                self.serve()
        raise AssertionError("it waits for ever")


def used(tokens: int = 10, cost: float = 0.0) -> ModelUsageSummary:
    return ModelUsageSummary(1, tokens, 0, cost)


def test_calls_are_exact_however_they_are_spread() -> None:
    world = World(3, calls=50)
    made = 0
    with pytest.raises(CallLimitExceededError) as limit:
        while True:
            world.call(random.Random(made).choice("abc")).settle(used())
            made += 1
    world.report()
    assert made == world.ledger.spent.calls == limit.value.calls == 50
    assert world.ledger.spent.tokens == 500


def test_a_lease_is_a_share_and_the_last_are_single_calls() -> None:
    world = World(2, calls=100)
    world.nodes["a"].reserve(400)
    world.serve()
    assert world.nodes["a"].account.got.calls == 25
    world = World(2, calls=3)
    world.nodes["a"].reserve(400)
    world.serve()
    assert world.nodes["a"].account.got.calls == 1


def test_what_one_node_has_left_goes_to_another_that_needs_it() -> None:
    world = World(2, calls=4)
    for name in "ab":
        world.call(name).settle(used())
    world.nodes["a"].given((1, None, None), Amount(2, 1000, 1.0), Spent())
    world.leases._given["a"] += Amount(2, 1000, 1.0)
    world.report()
    assert world.nodes["b"].reserve(400) is None
    assert world.nodes["b"].reserve(400) is None  # it asks once
    assert len(world.needs["b"]) == 1
    world.serve()
    assert world.needs["b"]
    assert "a" in world.leases.holding()
    world.nodes["a"].give_back()
    world.serve()
    assert world.leases.holding() == ["b"]
    assert world.nodes["b"].reserve(400) is not None


def test_a_grant_that_is_under_way_is_held() -> None:
    world = World(2, calls=1)
    need = LeaseNeed((400, None, None), 357, 0.0, False)
    assert world.leases.lease("a", need) == Amount(1, 250_000, 2.5)
    assert world.leases.lease("b", need) is None
    assert world.leases.holding() == ["a"]
    with pytest.raises(CallLimitExceededError):
        world.nodes["a"].given(need.kind, Amount(1, 250_000, 2.5), Spent())
        world.nodes["a"].reserve(400)
        world.report()
        world.leases.lease("b", need)


@pytest.mark.parametrize(
    ("tokens", "cost", "kind", "error"),
    [
        (1_000, 9.0, (400,), TokenLimitExceededError),
        (10**9, 0.0005, (40, Price(1.0, 1.0)), BudgetExceededError),
        (10**9, 0.0005, (40, Price(1.0, 1.0), 50), BudgetExceededError),
    ],
)
def test_tokens_and_cost_end_as_in_one_ledger(
    tokens: int, cost: float, kind: tuple[object, ...], error: type[Exception]
) -> None:
    """One call after another, the same on one ledger and on three nodes: the same calls, the same end, the same text."""
    usage = used(100, 0.0001)
    alone = Ledger(Allowance(1000, tokens, cost, 60))
    made = 0
    with pytest.raises(error) as one:
        while True:
            alone.reserve(*kind).settle(usage)
            made += 1
    world = World(3, calls=1000, tokens=tokens, cost=cost)
    with pytest.raises(error) as other:
        for number in range(made + 1):
            world.call("abc"[number % 3], *kind).settle(usage)
    world.report()
    assert world.ledger.spent.calls == made
    assert str(other.value) == str(one.value)


def test_a_call_that_is_too_dear_is_refused_and_a_cheaper_one_is_made() -> None:
    world = World(2, cost=1.0)
    flying = world.call("a", 400, PRICE, 100)
    assert world.nodes["b"].reserve(4_000_000, PRICE, 100) is None
    world.serve()
    assert world.needs["b"]  # a call in flight may turn out cheaper: the node waits
    flying.settle(used(100, 0.1))
    with pytest.raises(BudgetExceededError, match=r"spent \$0\.100000 of \$1\.000000 budget, and the next call may cost"):
        world.call("b", 4_000_000, PRICE, 100)
    world.call("b", 400, PRICE, 100).settle(used(100, 0.1))


def test_a_free_model_under_a_cost_limit_of_nothing_is_called_one_at_a_time_as_in_one_ledger() -> None:
    world = World(2, cost=0.0)
    first = world.call("a")
    assert world.nodes["b"].reserve(400) is None
    world.serve()
    assert world.needs["b"]
    first.settle(used())
    assert world.call("b") is not None


def test_a_node_that_dies_is_charged_for_what_it_told_and_the_rest_comes_back() -> None:
    world = World(2, calls=10, tokens=10_000)
    done, flying = world.call("a"), world.call("a")
    done.settle(used(50))
    world.report()
    assert world.nodes["a"].account == Account(
        Spent(2, 50, 0, 0.0), Amount(2, 2500, 2.5), Amount(0, 2093, 2.5), Amount(1, flying.tokens, 0.0)
    )
    world.leases.leave("a")
    del world.nodes["a"], world.needs["a"]
    assert world.ledger.spent == Spent(2, 50 + flying.tokens, 0, 0.0)
    for _ in range(8):
        world.call("b").settle(used())
    with pytest.raises(CallLimitExceededError):
        world.call("b")


def test_others_are_seen_by_the_checks_of_a_node() -> None:
    world = World(2, tokens=1_000)
    world.call("a").settle(used(2_000))
    world.report()
    node = world.nodes["b"]
    node.check()
    node.told(world.leases.others("b"))
    assert node.spent.tokens == 2_000
    with pytest.raises(TokenLimitExceededError, match="after iteration 3: 2,000 of 1,000"):
        node.check(after=3)
    with pytest.raises(TokenLimitExceededError):
        node.check_rest()


def test_an_overshoot_takes_nothing_that_is_held_for_another_call() -> None:
    world = World(1, tokens=4_000)
    first, second = world.call("a"), world.call("a")
    first.settle(used(3_000))
    account = world.nodes["a"].account
    assert (account.left.tokens, account.held.tokens) == (0, second.tokens)
    world.report()
    assert world.ledger.spent.tokens == 3_000


def test_a_reply_of_unknown_cost_stops_its_node_and_then_all() -> None:
    world = World(2)
    world.nodes["a"].refuse_unknown(PriceUnknownError("m"))
    assert isinstance(world.nodes["a"].unknown, PriceUnknownError)
    with pytest.raises(PriceUnknownError):
        world.nodes["a"].reserve(400)
    assert world.nodes["b"].unknown is None


def test_refused_calls_and_records_count_for_all_nodes() -> None:
    world = World(2)
    first, second = world.nodes["a"], world.nodes["b"]
    assert [first.refused_call() for _ in range(3)] == [1, 2, 3]
    assert first.keep(60, 100)
    world.report()
    assert (world.ledger.spent.refused, world.ledger.spent.kept) == (3, 60)
    before = Spent(refused=1)
    for others in (world.leases.others("b"), before):  # an old message does not undo a newer one
        second.told(others)
    assert second.refused_call() == 4
    assert not second.keep(50, 100)
    assert second.keep(40, 100)
    world.report()
    world.leases.leave("a")
    assert (world.ledger.spent.refused, world.ledger.spent.kept) == (4, 100)
    assert world.leases.others("b") == Spent(refused=3, kept=60)


def test_a_refused_call_is_reported() -> None:
    changes: list[int] = []
    node = LeasedLedger(
        Allowance(1, 1, 1.0, 60), deadline=time.time() + 60, ask=print, changed=lambda: changes.append(1)
    )
    node.refused_call()
    assert (node.account.spent.refused, changes) == (1, [1])


def test_each_change_of_a_node_is_reported_and_nothing_else_is() -> None:
    changes: list[int] = []
    told: list[LeaseNeed] = []
    node = LeasedLedger(
        Allowance(100, 10**6, 1.0, 60), deadline=time.time() + 60, ask=told.append, changed=lambda: changes.append(1)
    )

    def reported() -> int:
        count = len(changes)
        del changes[:]
        return count

    assert node.reserve(400) is None and (reported(), len(told)) == (0, 1)
    assert node.reserve(400) is None and (reported(), len(told)) == (0, 1)  # it is asked for once
    node.given((400, None, None), Amount(2, 100_000, 1.0), Spent())
    assert reported() == 1
    reservation = node.reserve(400)
    assert reservation is not None and (reported(), len(told)) == (1, 1)
    reservation.settle(used())
    assert reported() == 1
    node.told(Spent(calls=1))
    assert reported() == 0
    node.give_back()
    assert reported() == 1 and node.account.left == Amount(0, 0, 0.0)
    assert node.reserve(400) is None and (reported(), len(told)) == (0, 2)


def test_a_node_has_no_more_calls_in_flight_than_its_share() -> None:
    told: list[LeaseNeed] = []
    changes: list[int] = []
    node = LeasedLedger(
        Allowance(100, 10**6, 1.0, 60), deadline=time.time() + 60, ask=told.append, changed=lambda: changes.append(1), most=2
    )
    node.given((400, None, None), Amount(50, 100_000, 1.0), Spent())
    first, second = node.reserve(400), node.reserve(400)
    assert first is not None
    assert second is not None
    assert node.reserve(400) is None
    assert told == []  # it waits for its own calls, not for a lease
    del changes[:]
    node.resize(1)
    assert changes
    assert (node.account.most, node.account.held.calls) == (1, 2)
    first.settle(used())
    assert node.reserve(400) is None
    node.resize(2)
    assert node.reserve(400) is not None
    assert node.reserve(400) is None


def test_a_node_that_hears_nothing_of_its_driver_begins_no_call() -> None:
    heard = [True]
    told: list[LeaseNeed] = []
    node = LeasedLedger(
        Allowance(100, 10**6, 1.0, 60), deadline=time.time() + 60, ask=told.append, changed=lambda: None, connected=lambda: heard[0]
    )
    node.given((400, None, None), Amount(50, 100_000, 1.0), Spent())
    assert node.reserve(400) is not None
    heard[0] = False
    assert node.reserve(400) is None
    assert (node.account.held.calls, told) == (1, [])  # what others may have got is not spent, and not asked for again
    heard[0] = True
    assert node.reserve(400) is not None


def test_the_deadline_is_the_same_moment_on_every_machine() -> None:
    node = LeasedLedger(Allowance(1, 1, 1.0, 60), deadline=time.time() + 7, ask=print, changed=lambda: None)
    assert 6.5 < node.seconds_left <= 7
    assert 52.9 < node.elapsed < 54
    late = LeasedLedger(Allowance(1, 1, 1.0, 60), deadline=time.time() - 1, ask=print, changed=lambda: None)
    with pytest.raises(TimeoutExceededError):
        late.reserve(400)


def test_many_threads_on_many_nodes_are_never_over() -> None:
    """Real threads, each waiting for a lease while a driver serves; messages are read late, and twice."""
    world = World(4, calls=300, tokens=90_000)
    made, ended = [], threading.Event()
    lock = threading.Lock()

    def work(name: str, seed: int) -> None:
        dice = random.Random(seed)
        try:
            while True:
                reservation = world.nodes[name].reserve(dice.randrange(40, 900))
                if reservation is None:
                    time.sleep(0.001)
                    continue
                with lock:
                    made.append(name)
                if dice.random() < 0.1:
                    reservation.refuse()
                else:
                    reservation.settle(used(dice.randrange(1, reservation.tokens)))
        except LIMITS:
            return

    def drive() -> None:
        while not ended.is_set():
            world.serve()
            world.report()
            if any(world.needs.values()):
                for node in world.nodes.values():
                    node.give_back()

    driver = threading.Thread(target=drive)
    workers = [threading.Thread(target=work, args=("abcd"[seed % 4], seed)) for seed in range(8)]
    for each in (driver, *workers):
        each.start()
    for each in workers:
        each.join(60)
        assert not each.is_alive()
    ended.set()
    driver.join()
    world.report()
    assert world.ledger.spent.calls == len(made) <= 300
    assert world.ledger.spent.tokens < 90_000 + 500  # at most one call over, as in one ledger
    assert world.ledger.spent.calls == 300 or world.ledger.spent.tokens >= 90_000 - 500
    assert set(made) == set("abcd")


def test_costs_that_arrive_in_another_order_are_no_lease_that_is_out() -> None:
    world = World(1, calls=3, cost=10.0)
    costs = (0.1, 0.2, 0.3)
    for cost in costs:
        world.leases._given["a"] += Amount(1, 100_000, cost)
    for cost in reversed(costs):  # messages to a node arrive in any order
        world.nodes["a"].given((1, None, None), Amount(1, 100_000, cost), Spent())
    for _ in costs:
        world.call("a", 4).settle(used())
    world.nodes["a"].give_back()
    world.report()
    assert world.leases._given["a"] != world.nodes["a"].account.got
    assert world.leases.holding() == []
    with pytest.raises(CallLimitExceededError):  # and no wait for what no node has
        world.call("a")


@pytest.mark.parametrize(
    "account",
    [
        Account(Spent(0, 10), Amount(2, 100)),
        Account(Spent(1, 9), Amount(2, 100)),
        Account(Spent(1, 10, 0, -1.0), Amount(2, 100)),
        Account(Spent(1, 10, 0, math.nan), Amount(2, 100)),
        Account(Spent(1, 10, refused=-1), Amount(2, 100)),
        Account(Spent(1, 10, kept=-1), Amount(2, 100)),
        Account(Spent(1, 10), Amount(1, 100)),
        Account(Spent(1, 10), Amount(10_000, 100)),
        Account(Spent(3, 10), Amount(2, 100)),
        Account(Spent(1, 10), Amount(2, 100), Amount(-1, 0)),
        Account(Spent(1, 10), Amount(2, 100), Amount(0, 0, math.inf)),
        Account(Spent(1, 10), Amount(2, 100), Amount(), Amount(0, -10)),
    ],
)
def test_an_account_that_cannot_be_changes_nothing(account: Account) -> None:
    world = World(1, calls=10)
    world.leases._given["a"] = Amount(2, 100)
    world.leases.report("a", Account(Spent(1, 10), Amount(2, 100), Amount(1, 90)))
    with pytest.raises(ValueError, match="an account goes down, or above what was given"):
        world.leases.report("a", account)
    assert world.ledger.spent == Spent(1, 10)
    with pytest.raises(ValueError, match="no such amount"):
        world.leases.check(LeaseNeed((1, None, None), 1, math.nan, True))


def test_the_last_digit_of_what_is_held_breaks_no_account() -> None:
    world = World(1, calls=10)
    world.leases._given["a"] = Amount(3, 300_000, 1.0)
    world.nodes["a"].given((1, None, None), Amount(3, 300_000, 1.0), Spent())
    held = [world.nodes["a"]._opened(10, cost) for cost in (0.7, 0.1, 0.0)]
    for reservation in held[:2]:
        reservation.settle(used())
    world.nodes["a"].give_back()
    assert world.nodes["a"].account.held.cost_usd < 0
    world.report()
    assert world.ledger.spent.calls == 3


def test_a_node_hears_of_a_cost_that_came_without_tokens() -> None:
    nothing = lambda *_: None  # noqa: E731
    ledger = LeasedLedger(Allowance(10, 1000, 1.0, 60), deadline=time.time() + 60, ask=nothing, changed=nothing)
    for cost in (0.0, 5.0, 0.0):  # the first one comes again, late
        ledger.told(Spent(calls=1, cost_usd=cost))
    with pytest.raises(BudgetExceededError):
        ledger.check()


# -- the driver's side, at each bound ---------------------------------------------------------------


def driver(*nodes: str, calls: int = 100, tokens: int = 10_000, cost: float = 10.0) -> Leases:
    leases = Leases(Ledger(Allowance(calls, tokens, cost, 60)))
    for name in nodes:
        leases.join(name)
    return leases


def need(tokens: int = 1, cost: float = 0.0, *, bounded: bool = True) -> LeaseNeed:
    return LeaseNeed((1, None, None), tokens, cost, bounded)


def test_a_lease_is_the_rest_by_twice_the_number_of_nodes() -> None:
    assert driver("a").lease("a", need()) == Amount(50, 5_000, 5.0)
    assert driver("a", "b").lease("a", need()) == Amount(25, 2_500, 2.5)
    assert driver("a", "b").lease("a", need(9_000, 9.0)) == Amount(25, 9_000, 9.0)


def test_the_last_call_and_the_last_token_are_given() -> None:
    assert driver("a", calls=1).lease("a", need()) == Amount(1, 5_000, 5.0)
    assert driver("a", tokens=1).lease("a", need()) == Amount(50, 1, 5.0)
    assert driver("a", cost=1.0).lease("a", need(1, 1.0)) == Amount(50, 5_000, 1.0)
    for last in ({"calls": 2}, {"tokens": 2}):  # and the other node keeps its own
        several = driver("a", "b", **last)
        assert several.lease("a", need()) is not None and several.lease("b", need()) is not None
    several = driver("a", "b", cost=1.0)
    assert several.lease("a", need(1, 0.5)) == Amount(25, 2_500, 0.5)
    assert several.lease("b", need(bounded=False)) == Amount(18, 1_875, 0.125)


def test_a_call_waits_while_others_hold_what_it_needs() -> None:
    for held in ({"calls": 1}, {"tokens": 1}):
        several = driver("a", "b", **held)
        assert several.lease("a", need()) is not None
        assert several.lease("b", need()) is None
    dear = driver("a", "b", cost=1.0)
    assert dear.lease("a", need(1, 1.0)) is not None
    assert dear.lease("b", need(1, 0.5)) is None and dear.lease("b", need(bounded=False)) is None


def test_a_call_waits_for_those_in_flight_that_may_use_less() -> None:
    several = driver("a", "b", tokens=10)
    given = several.lease("a", need(10))
    assert given is not None
    several.report("a", Account(Spent(calls=1), given, Amount(0, 0, 0.0), Amount(1, 10, 0.0), 1))
    assert several.holding() == [] and several.lease("b", need()) is None
    several.report("a", Account(Spent(calls=1, input_tokens=4), given, Amount(0, 0, 0.0), Amount(0, 0, 0.0), 1))
    assert several.lease("b", need()) == Amount(24, 1, 2.5)


def test_a_need_of_nothing_can_be_and_one_below_it_cannot() -> None:
    driver("a").check(need(0, 0.0))
    for each in (need(-1), need(0, -0.1), need(0, math.inf)):
        with pytest.raises(ValueError, match="no such amount"):
            driver("a").check(each)


def test_an_account_has_no_more_left_than_it_got_and_holds_nothing_below_zero() -> None:
    leases = driver("a")
    given = leases.lease("a", need())
    assert given is not None
    got, nothing = Amount(1, 10, 1.0), Amount(0, 0, 0.0)
    for left, held in ((Amount(2, 10, 1.0), nothing), (nothing, Amount(0, 0, -0.5))):
        with pytest.raises(ValueError, match="an account goes down"):
            leases.report("a", Account(Spent(), got, left, held, 1))
    leases.report("a", Account(Spent(), got, Amount(1, 10, 1.0), nothing, 1))


def test_nothing_is_kept_of_a_node_that_has_left() -> None:
    leases = driver("a", "b")
    leases.lease("a", need())
    leases.leave("a")
    assert (list(leases._accounts), list(leases._given)) == (["b"], ["b"])


def test_what_a_call_did_not_use_is_left_and_what_it_used_beyond_is_not_owed() -> None:
    nothing = lambda *_: None  # noqa: E731
    node = LeasedLedger(Allowance(10, 1000, 10.0, 60), deadline=time.time() + 60, ask=nothing, changed=nothing)
    node.given((4, PRICE, 1), Amount(5, 900, 0.9), Spent())
    reservation = node.reserve(4, PRICE, 1)
    assert reservation is not None
    reservation.settle(ModelUsageSummary(1, 1, 1, 0.25))
    assert node.account.left.cost_usd == pytest.approx(0.65)
    reservation = node.reserve(4, PRICE, 1)
    assert reservation is not None
    reservation.settle(ModelUsageSummary(1, 1, 1, 5.0))
    assert node.account.left.cost_usd == 0.0


def test_a_node_hears_of_the_others_with_each_answer_and_asks_again_after_a_refusal() -> None:
    told: list[LeaseNeed] = []
    nothing = lambda *_: None  # noqa: E731
    spent = Spent(calls=1, cost_usd=5.0)
    for answer in ("given", "refused"):
        node = LeasedLedger(Allowance(10, 1000, 1.0, 60), deadline=time.time() + 60, ask=told.append, changed=nothing)
        node.check()
        if answer == "given":
            node.given((4, None, None), Amount(1, 10, 0.1), spent)
        else:
            node.refused((4, None, None), ValueError("nothing left"), spent)
        with pytest.raises(BudgetExceededError):
            node.check()
    del told[:]
    node = LeasedLedger(Allowance(10, 1000, 1.0, 60), deadline=time.time() + 60, ask=told.append, changed=nothing)
    assert node.reserve(4) is None and len(told) == 1
    node.refused((4, None, None), ValueError("nothing left"), Spent())
    with pytest.raises(ValueError, match="nothing left"):
        node.reserve(4)
    assert node.reserve(4) is None and len(told) == 2
