"""What a run may still spend. One thread-safe ledger for a run and all its descendants.

A call reserves before it is made and settles after. The number of calls is exact: each reservation counts as one.
Cost is exact as well when the model's price and the longest reply are known: a reservation then holds the call's
maximum cost, and a call that the remaining allowance cannot pay for is not made. When either is unknown, and for
tokens, a reservation holds an estimate; when calls in flight hold the rest of an allowance, the next call waits
for one of them. The overshoot is then at most one call, plus what the other calls in flight cost beyond their
estimates.

Guards: the ledger: what a run and all its children may spend
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rlm_secure.clients.prices import Price
from rlm_secure.errors import (
    BudgetExceededError,
    CallLimitExceededError,
    ErrorThresholdExceededError,
    PriceUnknownError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.policy import cost
from rlm_secure.policy.model import Policy
from rlm_secure.types import ModelUsageSummary

#: The exceptions that a ledger raises.
LIMITS: Final = (BudgetExceededError, TokenLimitExceededError, TimeoutExceededError, PriceUnknownError)

#: Estimated output tokens of a call until a longer reply is seen.
_REPLY_TOKENS: Final = 256


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run tree may spend. `cost_usd` is US dollars as reported by providers or computed from the price table.

    `priced` means that the cost limit was chosen explicitly, so a model without a known price is refused.
    """

    calls: int
    tokens: int
    cost_usd: float
    seconds: float
    priced: bool = False

    @classmethod
    def of(
        cls,
        policy: Policy,
        *,
        max_tokens: int | None = None,
        max_budget: float | None = None,
        max_timeout: float | None = None,
    ) -> Allowance:
        """The policy's limits, tightened by the run's own. Raises ValueError for one that is no number (NaN)."""
        for name, value in (("max_tokens", max_tokens), ("max_budget", max_budget), ("max_timeout", max_timeout)):
            if value != value:  # it is less than nothing, and would tighten nothing
                raise ValueError(f"{name} is no number (NaN); give one, or leave it out for the policy's")
        return cls(
            calls=policy.lm.calls,
            tokens=policy.lm.tokens if max_tokens is None else min(policy.lm.tokens, max_tokens),
            cost_usd=policy.lm.cost_usd if max_budget is None else min(policy.lm.cost_usd, max_budget),
            seconds=policy.limits.run_seconds if max_timeout is None else min(policy.limits.run_seconds, max_timeout),
            priced=not policy.lm.unpriced and (max_budget is not None or cost.chosen(policy)),
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run tree has used so far. `refused` are calls of cells that were not made, `kept` bytes of records."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    refused: int = 0
    kept: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            self.refused + other.refused,
            self.kept + other.kept,
        )

    def __sub__(self, other: Spent) -> Spent:
        cost = -other.cost_usd
        return self + Spent(-other.calls, -other.input_tokens, -other.output_tokens, cost, -other.refused, -other.kept)


class Reservation:
    """One call that is about to be made, or in flight. End it exactly once; later ends are ignored."""

    __slots__ = ("_ledger", "cost_usd", "ended", "tokens")

    def __init__(self, ledger: Ledger, tokens: int, cost_usd: float) -> None:
        self._ledger = ledger
        self.ended = False
        self.tokens = tokens
        self.cost_usd = cost_usd

    def settle(self, usage: ModelUsageSummary) -> None:
        """Charge the actual usage: the call was answered."""
        self._ledger.settle(
            self,
            input_tokens=usage.total_input_tokens,
            output_tokens=usage.total_output_tokens,
            cost_usd=usage.total_cost or 0.0,
        )

    def lose(self) -> None:
        """Charge the estimate: the call was cut off (deadline, cancel), and the provider may charge for it."""
        self._ledger.settle(self, input_tokens=self.tokens, cost_usd=self.cost_usd)

    def refuse(self) -> None:
        """Charge only the call itself, no tokens or cost: the provider refused or failed."""
        self._ledger.settle(self)


class Ledger:
    """Everything that one run tree spends. Atomic and thread-safe."""

    def __init__(
        self, allowance: Allowance, *, clock: Callable[[], float] = time.monotonic, started: float | None = None
    ) -> None:
        self.allowance = allowance
        self._clock = clock
        self._started = clock() if started is None else started
        self._lock = threading.Lock()
        self._spent = Spent()
        self._in_flight = 0
        self._held_tokens = 0
        self._longest_reply = _REPLY_TOKENS
        self._held_cost = 0.0
        self._unknown: PriceUnknownError | None = None

    @property
    def spent(self) -> Spent:
        """A snapshot of what was spent so far."""
        with self._lock:
            return self._total()

    @property
    def in_flight(self) -> int:
        """The number of calls that are reserved and not settled."""
        with self._lock:
            return self._in_flight

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; zero or less when it has passed."""
        return self.allowance.seconds - self.elapsed

    def reserve(
        self, prompt_bytes: int, price: Price | None = None, max_output_tokens: int | None = None
    ) -> Reservation | None:
        """Reserve one call with a prompt of `prompt_bytes`; None when it must wait for a call in flight to end.

        `price` is the model's, `max_output_tokens` the longest reply that the request allows; None where unknown.
        Raises CallLimitExceededError, TokenLimitExceededError, BudgetExceededError, PriceUnknownError or
        TimeoutExceededError when there is nothing left; then the call must not be made.
        """
        with self._lock:
            self._check_rest()
            spent = self._spent
            held = spent.tokens + self._held_tokens, spent.cost_usd + self._held_cost
            tokens, cost, bounded = self._estimate(prompt_bytes, price, max_output_tokens)
            over = held[1] + cost > self.allowance.cost_usd if bounded else held[1] >= self.allowance.cost_usd
            if self._in_flight and (held[0] >= self.allowance.tokens or over):
                return None
            if bounded and over:
                raise self._too_dear(cost)
            return self._opened(tokens, cost)

    def _estimate(
        self, prompt_bytes: int, price: Price | None, max_output_tokens: int | None
    ) -> tuple[int, float, bool]:
        """The tokens and the cost of a call, and whether the cost is its maximum."""
        spent = self._total()
        tokens = prompt_bytes // 4 + 1 + self._longest_reply
        cost = tokens * (spent.cost_usd / spent.tokens if spent.tokens else 0.0)
        if price is not None:
            cost = price.most(prompt_bytes, max_output_tokens or self._longest_reply)
        return tokens, cost, price is not None and max_output_tokens is not None

    def _opened(self, tokens: int, cost: float) -> Reservation:
        """Count a call, and hold its estimate."""
        reservation = Reservation(self, tokens, cost)
        self._spent += Spent(calls=1)
        self._in_flight += 1
        self._held_tokens += reservation.tokens
        self._held_cost += reservation.cost_usd
        return reservation

    def settle(
        self,
        reservation: Reservation,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: float = 0.0,
    ) -> None:
        """End a reservation and charge what its call used. Does nothing if it has already ended."""
        with self._lock:
            if reservation.ended:
                return
            reservation.ended = True
            self._in_flight -= 1
            self._longest_reply = max(self._longest_reply, output_tokens)
            self._held_tokens -= reservation.tokens
            self._held_cost = self._held_cost - reservation.cost_usd if self._in_flight else 0.0
            self._spent += Spent(0, input_tokens, output_tokens, cost_usd)
            self._refund(reservation, input_tokens + output_tokens, cost_usd)

    def refused_call(self) -> int:
        """Count a refused call of a cell. Returns the number so far."""
        with self._lock:
            self._spent += Spent(refused=1)
            return self._total().refused

    def keep(self, size: int, limit: int) -> bool:
        """Count `size` bytes of a record if all of them are within `limit`. Returns whether they are."""
        with self._lock:
            if self._total().kept + size > limit:
                return False
            self._spent += Spent(kept=size)
            return True

    def add(self, spent: Spent) -> None:
        """Charge what was spent elsewhere on behalf of this ledger."""
        with self._lock:
            self._spent += spent

    def refuse_dear(self, cost: float) -> None:
        """Raise BudgetExceededError: the next call may cost `cost`, and there is less."""
        with self._lock:
            raise self._too_dear(cost)

    def _total(self) -> Spent:
        """What counts towards the allowance."""
        return self._spent

    def _refund(self, reservation: Reservation, tokens: int, cost: float) -> None:
        """A reservation has ended, and used so much."""

    def refuse_unknown(self, error: PriceUnknownError) -> None:
        """Refuse all further calls with `error`: their cost is unknown."""
        with self._lock:
            self._unknown = self._unknown or error

    def check_rest(self) -> None:
        """Raise the exception of a limit that is used up, so that no child is started in vain."""
        with self._lock:
            self._check_rest()

    def check(self, *, after: int = 0, partial_answer: str | None = None) -> None:
        """Raise upstream's exception, with the partial answer, for a limit that the run exceeded.

        `after` is the number of iterations done. Using up a limit exactly does not exceed it.
        """
        spent, allowance = self.spent, self.allowance
        if spent.cost_usd > allowance.cost_usd:
            raise BudgetExceededError(
                spent.cost_usd,
                allowance.cost_usd,
                f"Budget exceeded after iteration {after}: "
                f"spent ${spent.cost_usd:.6f} of ${allowance.cost_usd:.6f} budget",
                partial_answer,
            )
        if spent.tokens > allowance.tokens:
            raise TokenLimitExceededError(
                spent.tokens,
                allowance.tokens,
                partial_answer,
                f"Token limit exceeded after iteration {after}: {spent.tokens:,} of {allowance.tokens:,} tokens",
            )
        elapsed = self.elapsed
        if elapsed > allowance.seconds:
            raise TimeoutExceededError(
                elapsed,
                allowance.seconds,
                partial_answer,
                f"Timeout exceeded after iteration {after}: {elapsed:.1f}s of {allowance.seconds:.1f}s limit",
            )

    def _too_dear(self, cost: float) -> BudgetExceededError:
        spent, budget = self._total().cost_usd, self.allowance.cost_usd
        message = (
            f"Budget exceeded: spent ${spent:.6f} of ${budget:.6f} budget, and the next call may cost up to "
            f"${cost:.6f}; raise the budget, or lower max_tokens in sampling_args"
        )
        return BudgetExceededError(spent, budget, message)

    def _check_rest(self) -> None:
        spent, allowance = self._total(), self.allowance
        if self._unknown is not None:
            raise PriceUnknownError(self._unknown.model, str(self._unknown))
        if spent.calls >= allowance.calls:
            raise CallLimitExceededError(spent.calls, allowance.calls, spent.cost_usd, allowance.cost_usd)
        if spent.tokens >= allowance.tokens:
            raise TokenLimitExceededError(spent.tokens, allowance.tokens)
        if spent.cost_usd > 0 and spent.cost_usd >= allowance.cost_usd:
            raise BudgetExceededError(spent.cost_usd, allowance.cost_usd)
        elapsed = self.elapsed
        if elapsed >= allowance.seconds:
            raise TimeoutExceededError(elapsed, allowance.seconds)


class Records:
    """Memory that one run tree may use for records: data that the run does not need but the caller may read later.

    It is never released: the caller may hold the records. Atomic and thread-safe.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._kept = 0

    @property
    def kept(self) -> int:
        """Bytes reserved so far."""
        with self._lock:
            return self._kept

    def take(self, size: int) -> bool:
        """Reserve `size` bytes for a record if there is room. Returns whether there was."""
        with self._lock:
            if self._kept + size > self.limit:
                return False
            self._kept += size
            return True


class TreeRecords(Records):
    """The records of a run tree, counted in its ledger: with those that it makes on other machines."""

    def __init__(self, limit: int, ledger: Ledger) -> None:
        super().__init__(limit)
        self._ledger = ledger

    @property
    def kept(self) -> int:
        """As Records.kept."""
        return self._ledger.spent.kept

    def take(self, size: int) -> bool:
        """As Records.take()."""
        return self._ledger.keep(size, self.limit)


class Meter:
    """The counters of one completion, in addition to its tree's ledger: iterations, and errors in a row."""

    def __init__(self, ledger: Ledger, *, iterations: int, errors: int | None) -> None:
        self.ledger = ledger
        self.max_iterations = iterations
        self.max_errors = errors
        self.iterations = 0
        self.errors = 0
        self.last_error: str | None = None

    def count(self, error: str | None) -> None:
        """Count one finished turn; `error` is its error, if any."""
        self.iterations += 1
        self.errors = self.errors + 1 if error else 0
        self.last_error = error or self.last_error

    def check(self, partial_answer: str | None) -> None:
        """Raise upstream's exception for the first limit that is exceeded."""
        if self.max_errors is not None and self.errors >= self.max_errors:
            raise ErrorThresholdExceededError(
                self.errors,
                self.max_errors,
                self.last_error,
                partial_answer,
                f"Error threshold exceeded after iteration {self.iterations}: "
                f"{self.errors} consecutive errors (limit: {self.max_errors})",
            )
        self.ledger.check(after=self.iterations, partial_answer=partial_answer)


def limit_name(error: Exception) -> str:
    """The name of the limit that an exception reports: calls, cost, tokens, time or errors."""
    for kind, name in (
        (CallLimitExceededError, "calls"),
        (BudgetExceededError, "cost"),
        (TokenLimitExceededError, "tokens"),
        (TimeoutExceededError, "time"),
        (PriceUnknownError, "cost"),
    ):
        if isinstance(error, kind):
            return name
    return "errors"


def exhausted(error: Exception) -> str:
    """What a cell reads when a limit refuses its call (upstream's texts, which programs match on)."""
    if isinstance(error, BudgetExceededError) and not isinstance(error, CallLimitExceededError):
        return f"Error: Budget exhausted (spent ${error.spent:.6f} of ${error.budget:.6f})"
    if isinstance(error, TimeoutExceededError):
        return f"Error: Timeout exhausted ({error.elapsed:.1f}s of {error.timeout:.1f}s)"
    return f"Error: {error}"
