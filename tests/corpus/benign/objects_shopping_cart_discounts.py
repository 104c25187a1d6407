from __future__ import annotations
from dataclasses import dataclass, field
from typing import Callable
from functools import partial


@dataclass(frozen=True)
class Product:
    name: str
    price: float
    category: str = "misc"


Discount = Callable[["Cart"], float]


@dataclass
class Cart:
    items: list[tuple[Product, int]] = field(default_factory=list)
    discounts: list[Discount] = field(default_factory=list)

    def add(self, product: Product, quantity: int = 1) -> Cart:
        self.items.append((product, quantity))
        return self

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return sum(q for _, q in self.items)

    @property
    def subtotal(self) -> float:
        return sum(p.price * q for p, q in self)

    @property
    def total(self) -> float:
        return max(0.0, self.subtotal - sum(d(self) for d in self.discounts))


def percent(cart: Cart, rate: float, category: str | None = None) -> float:
    return sum(p.price * q * rate for p, q in cart if category in (None, p.category))


def third_free(cart: Cart) -> float:
    return sum(p.price * (q // 3) for p, q in cart)


def voucher(amount: float, minimum: float) -> Discount:
    def apply(cart: Cart) -> float:
        return amount if cart.subtotal >= minimum else 0.0
    apply.__name__ = f"voucher_{amount:g}"
    return apply


cart = Cart().add(Product("pen", 1.5, "office"), 6).add(Product("book", 20.0, "media")).add(Product("cd", 9.9, "media"), 2)
for discounts in ([], [third_free], [partial(percent, rate=0.1, category="media"), third_free], [voucher(5, 40), voucher(50, 500)]):
    cart.discounts = discounts
    names = [getattr(d, "__name__", None) or d.func.__name__ for d in discounts]
    print(f"{len(cart)} items, {cart.subtotal:.2f} -> {cart.total:.2f} {names}")
