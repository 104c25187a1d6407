from functools import singledispatch, singledispatchmethod
from datetime import date
from decimal import Decimal


@singledispatch
def show(value):
    return f"{type(value).__name__}:{value}"


@show.register
def _(value: int):
    return f"{value:,}"


@show.register(list)
@show.register(tuple)
def _(value):
    return "[" + "; ".join(show(v) for v in value) + "]"


@show.register
def _(value: date):
    return f"{value:%d.%m.%Y}"


@show.register(type(None))
def _(value):
    return "-"


class Formatter:
    def __init__(self, unit):
        self.unit = unit

    @singledispatchmethod
    def fmt(self, x):
        raise TypeError(f"cannot format {type(x).__name__}")

    @fmt.register
    def _(self, x: float):
        return f"{x:.1f} {self.unit}"

    @fmt.register
    def _(self, x: str):
        return self.fmt(float(x))


print(show([1234567, None, (date(2024, 2, 29), "x", True), Decimal("1.50")]))
f = Formatter("km")
print(f.fmt(3.14159), f.fmt("42"))
try:
    f.fmt([])
except TypeError as e:
    print(e)
