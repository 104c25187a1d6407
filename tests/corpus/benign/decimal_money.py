from decimal import Decimal, ROUND_HALF_UP, getcontext
from fractions import Fraction
prices = [Decimal("19.99"), Decimal("5.01"), Decimal("0.10")]
total = sum(prices, Decimal(0))
tax = (total * Decimal("0.0825")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
print(total, tax, total + tax, Decimal("0.1") + Decimal("0.2") == Decimal("0.3"))
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), float(Fraction(2, 7)), Fraction(3, 4).numerator)
print(Decimal(2).sqrt(), Decimal("1e3").normalize())
