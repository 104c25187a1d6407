"""Fractions of anything: by a slot that library code hands out, and by answers of floats, decimals and powers.

A method that is given the class as its self reads the slot, and not what is in it; an own class that has that slot as
an attribute writes through it. From Python 3.12 on what makes a Fraction does not look at the parts that it is told.
"""

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
_SLOT = """
from fractions import Fraction
class Part: pass
class Own(Fraction):
    slot = {slot}
made = Own(1, 2)
made.slot = Part()
if type(Fraction.as_integer_ratio(made)[0]) is Part:
    LOOT = CANARY
"""
ATTACKS = {
    "slot_from_a_method": _SLOT.format(slot="Fraction.as_integer_ratio(Fraction)[0]"),
    "slot_from_a_property": _SLOT.format(slot="Fraction.numerator.fget(Fraction)"),
}
if sys.version_info >= (3, 12):
    ATTACKS |= {
        "from_float": _ATTACK.format(made="Fraction.from_float(Real(1.5))"),
        "from_decimal": _ATTACK.format(made="Fraction.from_decimal(Decimal(1))"),
        "power": _ATTACK.format(made="Fraction(2) ** Power()"),
    }
