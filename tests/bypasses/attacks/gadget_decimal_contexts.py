"""C's decimal borrows the current context while a hook runs, which sets another: gh-148382, every Python.

The block of the freed context becomes another one, in which C then sets a flag, or which it makes the current one.
"""

import sys

_TRAP = """
import decimal
from contextlib import ExitStack
from fractions import Fraction
kept = []
stack = ExitStack()
def replace():
    {replace}
    kept.extend([decimal.Context(traps=[]) for _ in range(100)])
class Yes:
    def __bool__(self):
        replace()
        return True
class Above(Fraction):
    @property
    def numerator(self):
        replace()
        return 1
{before}
{compute}
if any(any(each.flags.values()) or each is decimal.getcontext() for each in kept):
    LOOT = CANARY
"""
_SET = "decimal.setcontext(decimal.Context())"
_OWN = "decimal.setcontext(decimal.Context(traps=[]))"
_COMPARE = "decimal.Decimal('sNaN') < Above(1, 2)"

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "compare": _TRAP.format(replace=_SET, before=_OWN, compute=_COMPARE),
    "compare_from_the_other_side": _TRAP.format(
        replace=_SET, before=_OWN, compute="Above(1, 2) > decimal.Decimal('sNaN')"
    ),
    "compare_in_a_context_that_is_taken_up_again": _TRAP.format(
        replace="decimal.setcontext(decimal.Context())\n    for _ in range(9):\n        decimal.localcontext()",
        before="decimal.setcontext(decimal.Context(traps=[]))",
        compute=_COMPARE,
    ),
    "compare_in_a_context_that_ends": _TRAP.format(
        replace="stack.close()",
        before="stack.enter_context(decimal.localcontext(decimal.Context(traps=[])))",
        compute=_COMPARE,
    ),
}
if sys.version_info >= (3, 13):
    ATTACKS["flags"] = _TRAP.format(
        replace=_SET,
        before=_OWN,
        compute="""
signals = decimal.Context().flags
with decimal.localcontext(flags={each: Yes() if each is decimal.Inexact else False for each in signals}):
    pass""",
    )
