"""A class pattern reads attributes by name, without any getattr: `case object(__globals__=x)` (why RestrictedPython
refuses match altogether).
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "keyword_dunder": """
match helper:
    case object(__globals__=found):
        LOOT = found
""",
    "keyword_private": """
match record:
    case object(_secret=found):
        LOOT = found
""",
    "keyword_frame": """
match (x for x in ()):
    case object(gi_frame=found):
        LOOT = found
""",
    "nested": """
match [record]:
    case [object(method=object(__func__=object(__globals__=found)))]:
        LOOT = found
""",
    "or_pattern": """
match record:
    case int() | object(_secret=_) as found if False:
        pass
    case object(_secret=found):
        LOOT = found
""",
    "in_a_mapping": """
match {"a": record}:
    case {"a": object(_secret=found)}:
        LOOT = found
""",
    "match_args": """
class M:
    __match_args__ = ("__class__",)
match M():
    case M(found):
        LOOT = found.__init__.__globals__ if hasattr(found.__init__, "__globals__") else CANARY
""",
    "match_args_of_a_registered_class": """
import abc
class M(abc.ABC):
    __match_args__ = ("__globals__",)
M.register(type(helper))
match helper:
    case M(found):
        LOOT = found
""",
    "match_args_that_change": """
import abc
class Args:
    def __init__(self, after):
        self.left = after
    def __get__(self, instance, owner):
        self.left -= 1
        return ("__name__",) if self.left >= 0 else ("__globals__",)
LOOT = []
for after in range(6):
    try:
        class M(abc.ABC):
            __match_args__ = Args(after)
        M.register(type(helper))
        match helper:
            case M(found):
                LOOT.append(found)
    except Exception:
        pass
""",
    "match_args_changed_by_a_guard": """
import abc
class M(abc.ABC):
    __match_args__ = ("__name__",)
M.register(type(helper))
def change():
    setattr(M, "__match_args__", ("__globals__",))
    return False
match helper:
    case _ if change():
        pass
    case M(found):
        LOOT = found
""",
    "match_args_inherited": """
import abc
class A(abc.ABC):
    __match_args__ = ("__globals__",)
class M(A):
    pass
M.register(type(helper))
match helper:
    case M(found):
        LOOT = found
""",
    "dotted_value": """
match helper.__globals__:
    case helper.__globals__ as found:
        LOOT = found
""",
    "value_of_a_private": """
match record._secret:
    case record._secret as found:
        LOOT = found
""",
}
