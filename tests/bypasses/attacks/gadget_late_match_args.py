"""A class pattern reads what `__match_args__` of the class says, and a class can gain it after the look at it.

dataclass() takes the names of inherited fields, too; typing.NamedTuple (from Python 3.13 on) hands the class to hooks
before it has all that its body says.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_LATE = """
import collections.abc
from dataclasses import dataclass
gen = (x for x in ())
@dataclass
class G(collections.abc.Hashable):
    gi_frame: object = None
    def __hash__(self): return 1
"""
_FLAGS = """
import collections.abc
from dataclasses import dataclass
from decimal import Context
@dataclass(match_args=False)
class G(collections.abc.Hashable):
    flags: object = None
    def __hash__(self): return 1
class C(G): pass
C.register(Context)
match (dataclass(C), Context())[1]:
    case C(found):
        if type(found).__name__ == "SignalDict":
            LOOT = CANARY
"""
ATTACKS = {
    "dataclass_in_the_subject": _LATE + """
class C(G): pass
C.register(collections.abc.Generator)
match (dataclass(C), gen)[1]:
    case C(found): LOOT = found
""",
    "dataclass_in_a_guard": _LATE + """
class C(G): pass
C.register(collections.abc.Generator)
match gen:
    case _ if dataclass(C) is None: pass
    case C(found): LOOT = found
""",
    "dataclass_of_a_base_in_the_subject": _LATE + """
class B(G): pass
class C(B): pass
C.register(collections.abc.Generator)
match (dataclass(B), gen)[1]:
    case C(found): LOOT = found
""",
    "fields_of_a_class_that_got_slots": _LATE + """
class First(collections.abc.Hashable):
    gi_frame: object
    def __hash__(self): return 1
dataclass(slots=True)(First)
class C(First): pass
C.register(collections.abc.Generator)
match (dataclass(C), gen)[1]:
    case C(found): LOOT = found
""",
    "fields_of_a_context": _FLAGS,
}
if sys.version_info >= (3, 13):
    ATTACKS["named_tuple_before_its_body"] = """
import typing
got = []
def read(kind):
    match (yield):
        case kind(found): got.append(found)
class Hook:
    def __set_name__(self, owner, name):
        global reads
        reads = read(owner)
        next(reads)
class N(typing.NamedTuple):
    a: int
    hook = Hook()
    __match_args__ = ("__reduce_ex__",)
try:
    reads.send(N(1))
except StopIteration:
    pass
if got:
    LOOT = CANARY
"""
