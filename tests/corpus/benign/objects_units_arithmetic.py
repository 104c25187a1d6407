from __future__ import annotations


class Quantity:
    factors = {"m": 1.0, "km": 1000.0, "cm": 0.01, "mi": 1609.344}

    def __init__(self, value: float, unit: str = "m"):
        if unit not in self.factors:
            raise ValueError(f"unknown unit: {unit}")
        self.value, self.unit = value, unit

    @property
    def base(self) -> float:
        return self.value * self.factors[self.unit]

    def to(self, unit: str) -> Quantity:
        return Quantity(self.base / self.factors[unit], unit)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity((self.base + other.base) / self.factors[self.unit], self.unit)

    def __iadd__(self, other):
        self.value = (self + other).value
        return self

    def __truediv__(self, other):
        if isinstance(other, Quantity):
            return self.base / other.base
        return Quantity(self.value / other, self.unit)

    def __lt__(self, other):
        return self.base < other.base

    def __float__(self):
        return self.base

    def __int__(self):
        return int(self.base)

    def __round__(self, digits=0):
        return Quantity(round(self.value, digits), self.unit)

    def __str__(self):
        return f"{self.value:g} {self.unit}"


a, b = Quantity(1.5, "km"), Quantity(250)
print(a + b, b + a, a / b, a / 3, min(a, b), float(b), int(a))
b += Quantity(1, "km")
print(b, b.to("mi").__round__(3), round(Quantity(3.14159, "cm"), 2), sorted(map(str, [a, b])))
print(sum([Quantity(1, "km"), Quantity(5)], start=Quantity(0)))
try:
    Quantity(1, "ly")
except ValueError as e:
    print(e)
