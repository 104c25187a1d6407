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
}
