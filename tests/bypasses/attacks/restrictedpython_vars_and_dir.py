"""vars(), dir(), setattr() and delattr() are getattr by other names."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "vars_of_a_host_object": """
LOOT = vars(record)
""",
    "vars_of_a_function": """
LOOT = vars(type(helper))["__globals__"].__get__(helper)
""",
    "vars_without_argument": """
LOOT = vars()["__builtins__"]
""",
    "locals": """
LOOT = locals()["__builtins__"]
""",
    "globals": """
LOOT = globals()["__builtins__"]
""",
    "globals_through_a_library": """
import dataclasses
@dataclasses.dataclass
class D:
    x: object = dataclasses.field(default_factory=globals)
LOOT = D().x["__builtins__"]
""",
    "store_in_globals": """
globals()["__builtins__"] = {"len": lambda x: CANARY}
def f():
    return len([])
LOOT = (lambda: f)()()
""",
    "store_in_globals_of_a_guard": """
def f(o):
    o.public = CANARY
globals()["<store>"] = lambda value, name: value
globals()["__class__"] = CANARY
LOOT = __class__ if "<store>" in globals() else None
""",
    "setattr_on_a_host_object": """
setattr(record, "public", CANARY)
LOOT = record.public
""",
    "setattr_private": """
setattr(record, "_other", CANARY)
LOOT = getattr(record, "_other")
""",
    "setattr_code": """
def f():
    return CANARY
setattr(helper, "__code__", f.__code__)
LOOT = helper()
""",
    "store_on_a_host_object": """
record.public = CANARY
LOOT = record.public
""",
    "augmented_store": """
record.public += 1
LOOT = CANARY if record.public == 2 else None
""",
    "store_as_a_loop_target": """
for record.public in [CANARY]:
    pass
LOOT = record.public
""",
    "store_as_a_with_target": """
import contextlib
with contextlib.nullcontext(CANARY) as record.public:
    pass
LOOT = record.public
""",
    "store_by_unpacking": """
(record.public, rest) = (CANARY, 1)
LOOT = record.public
""",
    "store_annotated": """
record.public: str = CANARY
LOOT = record.public
""",
    "delete_from_a_host_object": """
del record.public
LOOT = None if hasattr(record, "public") else CANARY
""",
    "method_of_a_host_class": """
type(record).method = lambda self: CANARY
LOOT = record.method()
""",
    "mappingproxy_leaks_by_comparison": """
class Evil:
    def __eq__(self, other):
        other["method"] = lambda self: CANARY
        return True
vars(type(record)) == Evil()
LOOT = record.method()
""",
}
