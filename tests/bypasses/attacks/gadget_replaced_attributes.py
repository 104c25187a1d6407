"""What a class had is let go of before the interpreter's cache of what classes have forgets it.

Up to Python 3.12. What runs meanwhile, a generator's `finally`, is handed the freed object out of the cache.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_FREED = """
kept = []
def opened():
    try:
        yield
    finally:
        keep(getattr(C, V.name, None))
def keep(found):
    global LOOT
    if type(found) is V:
        kept.append(found)
        LOOT = CANARY
class V:
    __slots__ = ("held",)
    name = "x"
    def __init__(self):
        self.held = opened()
        next(self.held)
class C:
    pass
"""
_AGAIN = """
from typing import Protocol
class B(Protocol):
    def __init_subclass__(cls):
        pass
    @classmethod
    def again(cls):
        super().__init_subclass__()
"""
ATTACKS = {}
if sys.version_info < (3, 13):
    ATTACKS |= {
        "statement": _FREED + "C.x = V()\nC.x\nC.x = None\n",
        "deletion": _FREED + "C.x = V()\nC.x\ndel C.x\n",
        "setattr": _FREED + "C.x = V()\nC.x\nsetattr(C, 'x', None)\n",
        "augmented_assignment": _FREED + "V.__add__ = lambda self, other: 1\nC.x = V()\nC.x += 1\n",
        "private_name": _FREED + "V.name = '_x'\nC._x = V()\nC._x\nC._x = None\n",
        "of_a_base": _FREED + "class B:\n    pass\nclass C(B):\n    pass\nB.x = V()\nC.x\nB.x = None\n",
        "special_name": _FREED + "V.name = '__len__'\nC.__len__ = V()\nC.__len__\ndel C.__len__\n",
        "protocol": _FREED
        + """
from typing import Protocol, runtime_checkable
V.name = "_is_runtime_protocol"
V.__bool__ = lambda self: False
class C(Protocol):
    _is_runtime_protocol = V()
C._is_runtime_protocol
runtime_checkable(C)
""",
        "protocol_again": _FREED
        + _AGAIN
        + """
V.name = "_is_protocol"
armed = []
def asked(self):
    if armed:
        C._is_protocol  # in the cache from here on: what Generic wrote on the class had emptied it
    return False
V.__bool__ = asked
class C(B, Protocol):
    _is_protocol = V()
armed.append(1)
C.again()
""",
        "init_of_a_protocol": _FREED
        + _AGAIN
        + """
class Plain:
    pass
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
        C.__init__
def get(self, instance, owner):
    if ended:
        keep(self)
    return Plain.__init__
V.__get__ = get
class C(B, Protocol):
    _is_protocol = True
    __init__ = V()
C.again()
""",
        "dataclass": _FREED
        + """
from dataclasses import dataclass, field
def get(self, instance, owner):
    if ended:
        keep(self)
    return field()
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
        C.x
V.__get__ = get
class C:
    x: int = V()
dataclass(C)
""",
        "total_ordering": _FREED
        + """
from functools import total_ordering
V.name = "__gt__"
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
        C.__gt__
def get(self, instance, owner):
    if ended:
        keep(self)
    return object.__gt__
V.__get__ = get
class C:
    __gt__ = V()
    def __lt__(self, other):
        return True
total_ordering(C)
""",
    }
