"""Names with two underscores are the interpreter's. Reading one is the first line of nearly every escape."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "builtins": """
LOOT = __builtins__
""",
    "loader": """
import types
LOOT = [__builtins__, __name__]
""",
    "assign_builtins": """
__builtins__ = vars(record)
LOOT = __builtins__
""",
    "class_of_a_literal": """
LOOT = ().__class__.__base__.__subclasses__()
""",
    "subclasses_walk": """
LOOT = [c for c in object.__subclasses__() if c.__name__ == "FileIO" or c.__name__ == "_wrap_close"][0].__init__
LOOT = getattr(LOOT, "__globals__", None) or object.__subclasses__
""",
    "mro": """
LOOT = int.__mro__[-1].__subclasses__()
""",
    "bases": """
LOOT = bool.__bases__[0].__base__.__subclasses__()
""",
    "globals": """
LOOT = helper.__globals__
""",
    "code": """
LOOT = helper.__code__
""",
    "closure": """
def f():
    x = 1
    return lambda: x
LOOT = f().__closure__[0]
""",
    "dict_of_a_class": """
LOOT = vars(type(record))["__init__"].__globals__
""",
    "self_of_a_builtin": """
LOOT = print.__self__
""",
    "self_of_len": """
LOOT = len.__self__.open
""",
    "module_spec": """
import json
LOOT = json.__spec__.loader.__init__.__globals__
""",
    "reduce_ex": """
LOOT = (1).__reduce_ex__(4)[0].__globals__
""",
    "getattribute": """
LOOT = object.__getattribute__(helper, "__globals__")
""",
    "type_getattribute": """
LOOT = type.__getattribute__(object, "__subclasses__")()
""",
    "init_globals_of_a_host_class": """
LOOT = record.__init__.__globals__
""",
    "class_cell": """
class C:
    def f(self):
        return __class__.__init_subclass__.__self__, helper.__globals__
LOOT = C().f()
""",
    "annotations_of_a_function": """
def f(x: vars(record)): pass
LOOT = helper.__annotations__, f.__annotations__, helper.__globals__
""",
}
