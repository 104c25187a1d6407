"""With a metaclass in hand: a class answers differently to a guard and to the interpreter.

Each begins by holding `type`: an alias of typing beside a mapping proxy had its `__mro_entries__` compare `type` with the
mapping of a cell. The interpreter asks the metaclass for `__match_args__`, a class body looks up its guards in what
`__prepare__` returned, and a property of the metaclass stands in for the `__dict__` of the class.
"""

_HOLD = """
import types, typing
held = []
class Peer(dict):
    def __eq__(self, other):
        held.append(other)
        return True
try:
    class Made(typing.Type[int], types.MappingProxyType(Peer())):
        pass
except Exception:
    pass
Type = held[0]
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "mro_entries_beside_a_proxy": _HOLD
    + """
LOOT = Type
""",
    "match_args_of_the_metaclass": _HOLD
    + """
Meta = Type("Meta", (Type,), {
    "__match_args__": property(lambda cls: ("__globals__",)),
    "__instancecheck__": lambda cls, value: True,
})
C = Meta("C", (), {})
match helper:
    case C(found):
        LOOT = found
""",
    "match_args_by_getattribute": _HOLD
    + """
Meta = Type("Meta", (Type,), {
    "__getattribute__": lambda cls, name: ("__globals__",) if name == "__match_args__" else None,
    "__instancecheck__": lambda cls, value: True,
})
C = Meta("C", (), {})
match helper:
    case C(found):
        LOOT = found
""",
    "prepare_spoofs_the_guards": _HOLD
    + """
class Space(dict):
    def __missing__(self, name):
        if name.startswith("<"):
            return {"<classes>": ()}.get(name, lambda value, *rest: value)
        raise KeyError(name)
Meta = Type("Meta", (Type,), {"__prepare__": classmethod(lambda *values, **options: Space())})
Base = Meta("Base", (), {})
class Derived(Base):
    taken = record._secret
LOOT = Derived.taken
""",
    "dict_of_the_metaclass_in_dataclass": _HOLD
    + """
import dataclasses
asked = []
code = "x,__import__('builtins').setattr(__import__('sys'), 'LOOT', 1)"
def answer(cls):
    asked.append(1)
    return {"__module__": "__main__", "__annotations__": {code if len(asked) > 2 else "x": int}, "__doc__": ""}
Meta = Type("Meta", (Type,), {"__dict__": property(answer)})
C = Meta("C", (), {"__doc__": "", "x": 1})
dataclasses.dataclass(init=False, repr=False)(C)
C() == C()
""",
    "class_with_any_hook": _HOLD
    + """
C = Type("C", (), {"__getattribute__": lambda self, name: CANARY})
LOOT = C().anything
""",
    "base_with_any_hook": _HOLD
    + """
Meta = Type("Meta", (Type,), {"__call__": lambda cls: CANARY})
Base = Meta("Base", (), {})
class Derived(Base):
    pass
LOOT = Derived()
""",
}
CONTROLS = {
    "dict_of_the_metaclass_in_dataclass": """
import dataclasses
code = "x,__import__('builtins').setattr(__import__('sys'), 'LOOT', 1)"
C = type("C", (), {"__doc__": "", "x": 1, "__annotations__": {code: int}})
dataclasses.dataclass(init=False, repr=False)(C)
C() == C()
""",
}
DAMAGE = {"dict_of_the_metaclass_in_dataclass": "hasattr(sys, 'LOOT')"}
