"""functools.update_wrapper and wraps read and write attributes by name: they copy a function's globals, a module's dict,
and hand frames to property setters.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "globals_merged": """
import functools
class Target:
    pass
t = Target()
functools.update_wrapper(t, helper, assigned=("__globals__",), updated=())
LOOT = vars(t)["__globals__"]
""",
    "code_assigned": """
import functools
def f():
    return CANARY
functools.update_wrapper(helper, f, assigned=("__code__",), updated=())
LOOT = helper()
""",
    "module_dict": """
import functools, json
class Target:
    pass
t = Target()
functools.update_wrapper(t, json, assigned=(), updated=("__dict__",))
LOOT = t.codecs
""",
    "wraps_secret": """
import functools
class Target:
    pass
t = Target()
functools.wraps(record, assigned=("_secret",), updated=())(t)
LOOT = vars(t)
""",
    "setter_gets_a_frame": """
import functools
def gen():
    yield
class Target:
    @property
    def gi_frame(self):
        pass
    @gi_frame.setter
    def gi_frame(self, value):
        global LOOT
        LOOT = value
functools.update_wrapper(Target(), gen(), assigned=("gi_frame",), updated=())
""",
    "wrapped_attribute": """
import functools
@functools.wraps(helper)
def f():
    pass
LOOT = f.__wrapped__.__globals__
""",
    "lru_cache_merges_a_dict": """
import functools
LOOT = vars(functools.lru_cache(type(record)))["__init__"].__globals__
""",
    "name_of_a_foreign_function": """
import functools, json
def f():
    pass
f.__name__ = CANARY
functools.update_wrapper(json.dumps, f)
LOOT = json.dumps.__name__
""",
    "doc_of_a_record": """
import functools
class Target:
    pass
functools.update_wrapper(record, helper)
LOOT = record.__wrapped__.__globals__
""",
}
