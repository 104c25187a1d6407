from functools import total_ordering


@total_ordering
class Money:
    __slots__ = ("cents", "currency")

    def __init__(self, cents: int, currency: str = "EUR"):
        self.cents = cents
        self.currency = currency

    @classmethod
    def parse(cls, text: str) -> "Money":
        amount, _, currency = text.partition(" ")
        return cls(round(float(amount) * 100), currency or "EUR")

    def _check(self, other):
        if self.currency != other.currency:
            raise ValueError(f"cannot mix {self.currency} and {other.currency}")

    def __eq__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return (self.cents, self.currency) == (other.cents, other.currency)

    def __lt__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        self._check(other)
        return self.cents < other.cents

    def __hash__(self):
        return hash((self.cents, self.currency))

    def __add__(self, other):
        if other == 0:
            return self
        self._check(other)
        return Money(self.cents + other.cents, self.currency)

    __radd__ = __add__

    def __str__(self):
        return f"{self.cents / 100:,.2f} {self.currency}"

    def __repr__(self):
        return f"Money({self.cents}, {self.currency!r})"


prices = [Money.parse(t) for t in ("19.99", "5", "1200.50 EUR", "0.01")]
print(sorted(prices), max(prices), sum(prices), sep="\n")
print(prices[0] <= prices[2], prices[1] == Money(500), len({*prices, Money(500)}))
try:
    prices[0] < Money(1, "USD")
except ValueError as e:
    print(e)
try:
    prices[0] < 3
except TypeError as e:
    print(type(e).__name__)
