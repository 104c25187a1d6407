"""From Python 3.12 on a Fraction takes what floats, decimals and powers of a cell answer for its parts, unlooked at."""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_ATTACK = """
import decimal, numbers
from fractions import Fraction
class Part: pass
class Real(float):
    def as_integer_ratio(self): return Part(), Part()
class Decimal(decimal.Decimal):
    def as_integer_ratio(self): return Part(), Part()
class Power:
    denominator = 1
    @property
    def numerator(self): return self
    def __ge__(self, other): return True
    def __rpow__(self, other): return Part()
numbers.Rational.register(Power)
made = {made}
if type(made) is Fraction and type(made.numerator) is Part:
    LOOT = CANARY
"""
ATTACKS = {}
if sys.version_info >= (3, 12):
    ATTACKS = {
        "from_float": _ATTACK.format(made="Fraction.from_float(Real(1.5))"),
        "from_decimal": _ATTACK.format(made="Fraction.from_decimal(Decimal(1))"),
        "power": _ATTACK.format(made="Fraction(2) ** Power()"),
    }
