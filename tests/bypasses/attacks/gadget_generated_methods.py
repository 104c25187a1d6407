"""Methods that a library generates for a cell's class have no guards, and libraries call them on what a cell made."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "enum_calls_init_of_a_class": """
import dataclasses, enum, operator
getter = operator.attrgetter("public")
@dataclasses.dataclass
class C:
    _paths: object
try:
    class E(enum.Enum):
        A = getter, (("__globals__",),)
        def __new__(cls, *values):
            return C
except Exception:
    pass
LOOT = getter(helper)
""",
    "enum_writes_on_what_new_returns": """
import enum
try:
    class E(enum.Enum):
        A = CANARY
        def __new__(cls, value):
            return record
except Exception:
    pass
LOOT = CANARY if hasattr(record, "_value_") else None
""",
    "enum_writes_on_a_library_class": """
import enum, json
try:
    class E(enum.Enum):
        A = CANARY
        def __new__(cls, value):
            return json.JSONEncoder
except Exception:
    pass
LOOT = CANARY if hasattr(json.JSONEncoder, "_value_") else None
""",
    "enum_new_of_another_base": """
import enum
class Base:
    def __new__(cls, *values):
        return record
try:
    class E(Base, enum.Enum):
        A = CANARY
except Exception:
    pass
LOOT = CANARY if hasattr(record, "_name_") else None
""",
    "enum_compares_new": """
import enum
held = []
class New:
    def __hash__(self):
        return hash(object.__new__)
    def __eq__(self, other):
        held.append(other)
        return False
    def __call__(self, cls, *values):
        return object()
try:
    class E(enum.Enum):
        A = 1
        __new__ = New()
except Exception:
    pass
LOOT = CANARY if held else None
""",
    "replace_reads_fields_of_the_instance": """
import dataclasses
class Item:
    init = True
    name = "__setattr__"
    _field_type = None
@dataclasses.dataclass(init=False)
class C:
    x: int = 1
    def __init__(self, **values):
        self.values = values
class Other:
    pass
c = C()
vars(c)["__dataclass_fields__"] = {"x": Item()}
setter = dataclasses.replace(c).values["__setattr__"]
setter("__class__", Other)
LOOT = CANARY if type(c) is Other else None
""",
    "copy_replace_reads_fields_of_the_instance": """
import copy, dataclasses
class Item:
    init = True
    name = "__reduce_ex__"
    _field_type = None
@dataclasses.dataclass(init=False)
class C:
    x: int = 1
    def __init__(self, **values):
        self.values = values
c = C()
vars(c)["__dataclass_fields__"] = {"x": Item()}
LOOT = CANARY if "__reduce_ex__" in copy.replace(c).values else None
""",
    "copy_of_an_exception_sets_the_class": """
import copy
class First(Exception):
    pass
class Second(Exception):
    pass
first = First()
vars(first)["__class__"] = Second
second = copy.copy(first)
LOOT = CANARY if type(second) is Second else None
""",
    "copy_runs_reduce_of_the_instance": """
import copy
ran = []
class C(Exception):
    pass
c = C()
def reduce(*values):
    ran.append(1)
    return C, (), {"__class__": D}
class D(Exception):
    pass
vars(c)["__reduce__"] = reduce
d = copy.copy(c)
LOOT = CANARY if ran else None
""",
    "copy_runs_reduce_by_a_key_that_is_no_name": """
import copy
ran = []
class Key(str):
    def __hash__(self):
        return hash("__reduce__")
    def __eq__(self, other):
        return str.__str__(other) == "__reduce__"
class C(Exception):
    pass
def reduce(*values):
    ran.append(1)
    return C, ()
c = C()
vars(c)[Key("x")] = reduce
copy.copy(c)
LOOT = CANARY if ran else None
""",
    "copy_runs_getstate_by_a_key_that_is_no_name": """
import copy
ran = []
class Key(str):
    pass
class C:
    pass
def state(*values):
    ran.append(1)
    return {}
c = C()
vars(c)[Key("__getstate__")] = state
copy.copy(c)
copy.deepcopy(c)
LOOT = CANARY if ran else None
""",
    "deepcopy_gives_a_method_another_self": """
import copy, json
class C(json.JSONEncoder):
    pass
encoder = C()
copy.deepcopy(encoder.__init__, {id(encoder): record})(separators=(CANARY, CANARY))
LOOT = record.item_separator
""",
    "deepcopy_gives_a_method_a_class": """
import copy, collections
class C(collections.ChainMap):
    pass
chain = C()
copy.deepcopy(chain.__init__, {id(chain): helper})({})
LOOT = CANARY if hasattr(helper, "maps") else None
""",
    "deepcopy_replaces_the_state_of_an_exception": """
import copy
class First(Exception):
    pass
class Second(Exception):
    pass
class State(dict):
    pass
first = First()
first.x = 1
second = copy.deepcopy(first, {id(vars(first)): State({"__class__": Second})})
LOOT = CANARY if type(second) is Second else None
""",
    "replace_of_a_namedtuple": """
import collections
Point = collections.namedtuple("Point", "x")
taken = []
class Taker:
    def __init__(self):
        self._make = taken.append
    def __iter__(self):
        return iter((1,))
Point._replace(Taker())
LOOT = CANARY if taken else None
""",
    "asdict_of_a_namedtuple": """
import collections
Point = collections.namedtuple("Point", "x")
class C:
    def __init__(self):
        self._fields = [CANARY]
    def __iter__(self):
        return iter((1,))
LOOT = Point._asdict(C())
""",
}
CONTROLS = {
    "enum_calls_init_of_a_class": """
class attrgetter:
    def __init__(self, *paths):
        self._paths = paths
    def __call__(self, value):
        for path in self._paths:
            value = getattr(value, *path)
        return value
getter = attrgetter(("public",))
"""
    + ATTACKS["enum_calls_init_of_a_class"].replace('getter = operator.attrgetter("public")\n', ""),
    "copy_replace_reads_fields_of_the_instance": ATTACKS["copy_replace_reads_fields_of_the_instance"].replace(
        "copy.replace(c)", "dataclasses.replace(c)"
    ),
}
