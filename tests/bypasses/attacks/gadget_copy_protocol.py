"""copy and deepcopy honour `__reduce_ex__`: call any function, then setattr anything onto whatever came back."""

ADVISORY = ""
GUARANTEE = "host-integrity"
ATTACKS = {
    "setattr_on_a_host_object": """
import copy
class C:
    def __reduce_ex__(self, protocol):
        return (lambda: record, (), (None, {"public": CANARY}))
copy.copy(C())
LOOT = record.public
""",
    "code_of_a_host_function": """
import copy
def f():
    return CANARY
class C:
    def __reduce_ex__(self, protocol):
        return (lambda: helper, (), (None, {"__defaults__": (CANARY,)}))
copy.copy(C())
LOOT = helper()
""",
    "reduce": """
import copy
class C:
    def __reduce__(self):
        return (lambda: record, (), {"public": CANARY})
copy.deepcopy([C()])
LOOT = record.public
""",
    "getstate": """
import copy
class C:
    def __new__(cls):
        return record
    def __getstate__(self):
        return {"public": CANARY}
c = object.__new__(C)
copy.copy(c)
LOOT = record.public
""",
    "new_returns_another": """
import copy
class C:
    armed = False
    def __new__(cls):
        return record if C.armed else super().__new__(cls)
c = C()
c.public = CANARY
C.armed = True
copy.copy(c)
LOOT = record.public
""",
    "class_slot": """
import copy
class C:
    __slots__ = ("__class__",)
class D:
    def __reduce_ex__(self, protocol):
        return (object.__new__, (D,), (None, {"__class__": type("X", (), {"loot": CANARY})}))
LOOT = copy.copy(D()).loot
""",
    "deepcopy_in_asdict": """
import dataclasses
class C:
    def __reduce_ex__(self, protocol):
        return (lambda: record, (), (None, {"public": CANARY}))
@dataclasses.dataclass
class D:
    value: object
dataclasses.asdict(D(C()))
LOOT = record.public
""",
    "memo_as_an_object": """
import copy
class Memo(dict):
    def get(self, key, default=None):
        return helper.__globals__
LOOT = copy.deepcopy([1], Memo())
""",
    "copyreg": """
import copyreg
LOOT = copyreg.dispatch_table, copyreg
""",
    "instance_hook_by_getattr": """
import copy
class C:
    def __getattr__(self, name):
        if name == "__reduce_ex__":
            return lambda protocol: (lambda: record, (), (None, {"public": CANARY}))
        raise AttributeError(name)
    def __reduce_ex__(self, protocol):
        return (lambda: record, (), (None, {"public": CANARY}))
copy.copy(C())
LOOT = record.public
""",
    "memo_that_is_copied": """
from copy import deepcopy
memos = []
class Fails:
    def __deepcopy__(self, memo):
        memos.append(memo)
        raise ValueError
def fail(x, *memo):
    try:
        deepcopy(x, *memo)
    except ValueError:
        pass
def address(x):
    h = object.__hash__(x) & (1 << 64) - 1
    return (h << 4 | h >> 60) & (1 << 64) - 1
fail([Fails()])
fail([Fails()])
memo, other = memos
for n in range(50):
    made = {address("__repr__"): "__getattribute__"}
    many = [{"_given": {}, "_kept": [], "_made": made, "end": Fails()} for i in range(30)]
    for each in many:
        fail(each, memo)
    del each, many
    try:
        made = deepcopy(other, memo)
    except ValueError:
        continue
    found = deepcopy(object.__repr__, made)
    if found is not object.__repr__:
        break
def frames():
    yield found(found(walk, "gi_frame"), "f_builtins")
walk = frames()
LOOT = next(walk)
""",
    "memo_after_a_copy_that_failed": """
from copy import deepcopy
from string import Template
memos = []
class Fails:
    def __deepcopy__(self, memo):
        memos.append(memo)
        raise ValueError
class Pattern:
    def __deepcopy__(self, memo):
        return self
def fail(x, *memo):
    try:
        deepcopy(x, *memo)
    except ValueError:
        pass
pattern = Pattern()
templates = [Template("plain $x") for i in range(30)]
fail([Fails()])
many = [{"template": "t", "pattern": pattern, "end": Fails()} for i in range(30)]
for each in many:
    fail(each, memos[0])
del each, many
for each in templates:
    made = deepcopy(each, memos[0])
    if made.pattern is pattern:
        LOOT = CANARY
""",
    "memo_of_a_descriptor": """
from copy import deepcopy
class Names:
    def __deepcopy__(self, memo):
        memo[id("__repr__")] = "__getattribute__"
        return deepcopy(object.__repr__, memo)
found = deepcopy(Names())
def frames():
    yield found(found(walk, "gi_frame"), "f_builtins")
walk = frames()
LOOT = next(walk)
""",
    "names_of_an_exception": """
from copy import copy
class A(Exception):
    def __setattr__(self, name, value):
        if "_late" not in vars(x):
            vars(x)["_late"] = 1
            del A.__setattr__
            vars(x)["__class__"] = B
class B(Exception):
    pass
x = A()
vars(x).update(a=1, b=1)
LOOT = CANARY if type(copy(x)) is B else None
""",
    "parts_of_an_iterator_read_at_two_moments": """
from copy import deepcopy
from itertools import tee
class Items:
    def __init__(self):
        self.held = [0]
    def __iter__(self):
        return self
    def __next__(self):
        self.held.append(0)
        return len(self.held)
class Advance:
    def __deepcopy__(self, memo):
        for _ in range(5):
            next(second)
first, second = tee(Items())
copies = deepcopy([first, Advance(), second])
LOOT = CANARY if next(copies[2]) != 7 else None
""",
}

CONTROLS = {
    "memo_that_is_copied": """
from copy import deepcopy
found = deepcopy(object.__repr__, {id("__repr__"): "__getattribute__"})
def frames():
    yield found(found(walk, "gi_frame"), "f_builtins")
walk = frames()
LOOT = next(walk)
""",
    "memo_after_a_copy_that_failed": """
from string import Template
pattern = object()
made = Template("plain $x")
made.pattern = pattern
if made.pattern is pattern:
    LOOT = CANARY
""",
}
