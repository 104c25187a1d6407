"""One allowance for several machines: each has leases of it, and what they spend together is never over it.

The driver's ledger is the only one that decides. A node asks for what its next call may need and gets a share of the
rest, so that it need not ask for each call. It counts every call against its lease before the call is made, and tells
the driver what it has spent, holds for calls in flight, and has left. All of that is cumulative: a message that is lost
or read twice changes nothing. When the rest is too small for a call, the driver takes back what nodes have left, waits
for the calls in flight, and then refuses or allows as its ledger would if all calls were its own.

A node that dies returns its lease, less what it had told of: calls that it had begun are charged with their estimates.

Guards: the leases of a batch on several machines: what they spend together
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rlm_secure.clients.prices import Price
from rlm_secure.rlm.budget import Allowance, Ledger, Reservation, Spent

#: One kind of call: the bytes of its prompt, its price and its most tokens of output, as Ledger.reserve() has them.
Kind: TypeAlias = tuple[int, Price | None, int | None]

#: What the sum of some costs may be off where others were taken away from it again, in dollars.
_ROUNDED: Final = 1e-6
#: A lease is the rest, divided by this and by the number of nodes.
_SHARES: Final = 2


@dataclass(frozen=True, slots=True)
class Amount:
    """A part of an allowance."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost_usd + other.cost_usd)

    def __sub__(self, other: Amount) -> Amount:
        return self + Amount(-other.calls, -other.tokens, -other.cost_usd)

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING: Final = Amount()


@dataclass(frozen=True, slots=True)
class LeaseNeed:
    """What a call that waits on a node may need. `bounded`: its cost is its maximum, not an estimate."""

    kind: Kind
    tokens: int
    cost_usd: float
    bounded: bool


@dataclass(frozen=True, slots=True)
class Account:
    """What a node has done with its leases: what it got, spent, has left, and holds for calls in flight.

    `held.calls` are the calls in flight, of which there may be `most`; they are among the calls spent.
    """

    spent: Spent = field(default_factory=Spent)
    got: Amount = _NOTHING
    left: Amount = _NOTHING
    held: Amount = _NOTHING
    most: int = sys.maxsize


class Leases:
    """The driver's side: gives parts of what `ledger` has left to nodes, by their names. For one thread."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._accounts: dict[str, Account] = {}
        self._given: dict[str, Amount] = {}

    def join(self, node: str) -> None:
        """A node that may ask."""
        self._accounts[node] = Account()
        self._given[node] = _NOTHING

    def report(self, node: str, account: Account) -> None:
        """Charge what `node` has spent since its last report. Raises ValueError, and charges nothing, for an account
        that cannot be: one of less than before, or of more calls than were given."""
        before, given = self._accounts[node], self._given[node]
        spent, got = account.spent - before.spent, account.got - before.got
        grown = (spent.calls, spent.input_tokens, spent.output_tokens, spent.cost_usd, spent.refused, spent.kept)
        over = (given.calls - account.got.calls, account.got.calls - account.left.calls - account.spent.calls)
        left, held = account.left, account.held
        amounts = (left.calls, left.tokens, left.cost_usd, held.calls, held.tokens, held.cost_usd + _ROUNDED)
        if not all(0 <= each < math.inf for each in (*grown, got.calls, got.tokens, *over, *amounts)):
            raise ValueError("an account goes down, or above what was given")
        self._ledger.add(spent)
        self._accounts[node] = account

    def check(self, need: LeaseNeed) -> None:
        """Raise ValueError for a need that none can have."""
        if not (need.tokens >= 0 and 0 <= need.cost_usd < math.inf):
            raise ValueError("a call needs no such amount")

    def leave(self, node: str) -> None:
        """End the lease of a node that has ended or died; charge its calls in flight as lost."""
        held = self._accounts.pop(node).held
        del self._given[node]
        self._ledger.add(Spent(input_tokens=held.tokens, cost_usd=held.cost_usd))

    def others(self, node: str) -> Spent:
        """What all others have spent."""
        return self._ledger.spent - self._accounts[node].spent

    def holding(self) -> list[str]:
        """The nodes that have something left, or will when they read what was given.

        Every lease has a call. Costs are not compared: added in another order, they may differ by their last digit.
        """
        accounts = self._accounts.items()
        return [node for node, each in accounts if each.left or self._given[node].calls != each.got.calls]

    def lease(self, node: str, need: LeaseNeed) -> Amount | None:
        """What `node` gets for its call; None where it must wait, while others are asked to give back.

        Raises as Ledger.reserve() when there is nothing left; then the call must not be made.
        """
        self._ledger.check_rest()
        spent, allowance = self._ledger.spent, self._ledger.allowance
        rest = Amount(allowance.calls, allowance.tokens, allowance.cost_usd)
        rest -= Amount(spent.calls, spent.tokens, spent.cost_usd)
        in_flight = 0
        for each, account in self._accounts.items():
            rest -= self._given[each] - account.got + account.left
            rest -= Amount(0, account.held.tokens, account.held.cost_usd)
            in_flight += account.held.calls
        over = need.cost_usd > rest.cost_usd if need.bounded else rest.cost_usd <= 0
        if rest.calls < 1 or rest.tokens <= 0 or over:
            if in_flight or self.holding():
                return None
            if need.bounded and over:
                self._ledger.refuse_dear(need.cost_usd)
        shares = _SHARES * len(self._accounts)
        given = Amount(
            max(1, rest.calls // shares),
            max(need.tokens, rest.tokens // shares),
            max(need.cost_usd, rest.cost_usd / shares),
        )
        self._given[node] += given
        return given


class LeasedLedger(Ledger):
    """A node's side: the ledger of its runs, which spends leases. `deadline` is wall time, as time.time() has it.

    `ask(need)` is called when a call needs more than is left; its Tree.reserve() waits meanwhile. `changed()` is called
    when there is something to report. Both are called without a lock, and do not wait. At most `most` calls are in
    flight at the same time. No call begins while `connected()` is false: the driver may have given the lease to others.
    """

    def __init__(
        self,
        allowance: Allowance,
        *,
        deadline: float,
        ask: Callable[[LeaseNeed], object],
        changed: Callable[[], object],
        most: int = sys.maxsize,
        connected: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(allowance, clock=time.time, started=deadline - allowance.seconds)
        self._ask = ask
        self._changed = changed
        self._most = most
        self._connected = connected
        self._left = self._got = _NOTHING
        self._others = Spent()
        self._asked: set[Kind] = set()
        self._refused: dict[Kind, Exception] = {}

    def reserve(
        self, prompt_bytes: int, price: Price | None = None, max_output_tokens: int | None = None
    ) -> Reservation | None:
        """Reserve one call within the lease; None when it must wait for one. Raises as Ledger.reserve()."""
        kind = prompt_bytes, price, max_output_tokens
        with self._lock:
            self._check_rest()
            if kind in self._refused:
                raise self._refused.pop(kind)
            if self._in_flight >= self._most or not self._connected():
                return None
            tokens, cost, bounded = self._estimate(*kind)
            left = self._left - Amount(1, tokens, cost)
            enough = left.calls >= 0 and left.tokens >= 0 and left.cost_usd >= 0
            reservation = self._opened(tokens, cost) if enough else None
            if enough:
                self._left = left
            asking = not enough and kind not in self._asked
            if asking:
                self._asked.add(kind)
        if asking:
            self._ask(LeaseNeed(kind, tokens, cost, bounded))
        elif enough:
            self._changed()
        return reservation

    def settle(
        self,
        reservation: Reservation,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: float = 0.0,
    ) -> None:
        """As Ledger.settle(); what the call did not use is left for others."""
        super().settle(reservation, input_tokens=input_tokens, output_tokens=output_tokens, cost_usd=cost_usd)
        self._changed()

    def refused_call(self) -> int:
        """As Ledger.refused_call(), of all nodes: a node hears of the others' within a moment."""
        count = super().refused_call()
        self._changed()
        return count

    def given(self, kind: Kind, amount: Amount, others: Spent) -> None:
        """A lease arrived for a call of that kind."""
        with self._lock:
            self._asked.discard(kind)
            self._hear(others)
            self._left += amount
            self._got += amount
        self._changed()

    def refused(self, kind: Kind, error: Exception, others: Spent) -> None:
        """There is nothing left for a call of that kind: it raises `error`."""
        with self._lock:
            self._asked.discard(kind)
            self._hear(others)
            self._refused[kind] = error

    def told(self, others: Spent) -> None:
        """What all others have spent."""
        with self._lock:
            self._hear(others)

    def resize(self, most: int) -> None:
        """From now on `most` calls may be in flight; those beyond that end, and none begins before."""
        with self._lock:
            self._most = most
        self._changed()

    def give_back(self) -> None:
        """Return what is left of the leases."""
        with self._lock:
            self._left = _NOTHING
        self._changed()

    @property
    def account(self) -> Account:
        """What to report."""
        with self._lock:
            held = Amount(self._in_flight, self._held_tokens, self._held_cost)
            return Account(self._spent, self._got, self._left, held, self._most)

    @property
    def unknown(self) -> Any:
        """The error of a reply whose cost is unknown, if a limit of cost must hold: then no node makes another call."""
        return self._unknown

    def _total(self) -> Spent:
        return self._spent + self._others

    def _hear(self, others: Spent) -> None:
        """Messages come in any order, and what was spent only grows."""
        self._others = max(
            self._others, others, key=lambda each: (each.calls, each.tokens, each.refused, each.kept, each.cost_usd)
        )

    def _refund(self, reservation: Reservation, tokens: int, cost: float) -> None:
        spare = self._left + Amount(0, reservation.tokens - tokens, reservation.cost_usd - cost)
        self._left = Amount(spare.calls, max(0, spare.tokens), max(0.0, spare.cost_usd))
