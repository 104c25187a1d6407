"""`index` of a deque compares an item that it does not hold: gh-115243, up to Python 3.11.8 and 3.12.2.

`__eq__` of the item empties the deque, and hands on to what is looked for: there, the item is another object.
"""

import sys

_TRAP = """
from collections import deque
class Other:
    __slots__ = ()
class A:
    __slots__ = ()
    def __eq__(self, other):
        d.clear()
        return NotImplemented
class B:
    def __eq__(self, other):
        global LOOT
        kept.extend([Other() for _ in range(200)])
        if type(other) is Other:
            kept.extend([other] * 100)
            LOOT = CANARY
        return True
kept = []
LOOT = None
d = deque([A()])
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "index": _TRAP + "d.index(B())\n",
    "index_with_bounds": _TRAP + "d.index(B(), 0, 1)\n",
    "index_by_the_class": _TRAP + "deque.index(d, B())\n",
    "index_of_a_derived_class": _TRAP + "class D(deque):\n    pass\nd = D(d)\nsuper(D, d).index(B())\n",
    "index_with_bounds_that_put_in_others": _TRAP
    + """
class N:
    def __index__(self):
        d.clear()
        d.append(A())
        return 0
d.index(B(), N())
""",
}
if sys.version_info >= (3, 12, 3) or (3, 11, 9) <= sys.version_info < (3, 12):
    ATTACKS = {}  # nothing to win
