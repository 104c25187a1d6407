"""A slot called `__class__`: an instance says what it is by `__getattr__`, and isinstance() believes it."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "slot": """
class Liar:
    __slots__ = ("__class__",)
    def __getattr__(self, name):
        return int
LOOT = CANARY if isinstance(Liar(), int) else None
""",
    "slot_by_a_variable": """
names = ["__cla" + "ss__"]
class Liar:
    __slots__ = names
    def __getattr__(self, name):
        return dict
LOOT = CANARY if isinstance(Liar(), dict) else None
""",
    "slot_of_a_base": """
class Base:
    __slots__ = ("__class__",)
class Liar(Base):
    def __getattr__(self, name):
        return list
LOOT = CANARY if isinstance(Liar(), list) else None
""",
    "slot_before_the_class_is_ready": """
class Base:
    def __init_subclass__(cls):
        global LOOT
        LOOT = CANARY if isinstance(cls(), int) else None
    def __getattr__(self, name):
        return int
class Liar(Base):
    __slots__ = ("__class__",)
""",
    "slot_that_an_enum_ignores": """
import enum
class Name(str):
    def __hash__(self):
        return hash("<regis" + "trar>")
    def __eq__(self, other):
        return True
class Liar(enum.Enum):
    _ignore_ = ["<registrar>", Name("x")]
    __slots__ = ("__class__",)
    A = 1
    def __getattr__(self, name):
        return int
LOOT = CANARY if isinstance(Liar.A, int) else None
""",
    "slot_of_an_enum_whose_ignored_names_change": """
from enum import Enum
class Names:
    asked = 0
    def append(self, name):
        pass
    def __iter__(self):
        Names.asked += 1
        return iter(["zz"] if Names.asked < LAST else ["<registrar>", "_ignore_"])
class Text(str):
    def replace(self, *values):
        return self
    def split(self, *values):
        return Names()
class Held:
    def __get__(self, instance, owner=None):
        return 1
    def __set_name__(self, owner, name):
        held.append(owner)
LOOT = None
for LAST in range(1, 9):
    Names.asked = 0
    held = []
    try:
        class E(Enum):
            _ignore_ = Text("zz")
            __slots__ = ("__class__",)
            A = 1
            d = Held()
            def __getattr__(self, name):
                return int
    except Exception:
        pass
    for each in held:
        if isinstance(each.A, int):
            LOOT = CANARY
""",
    "slot_of_another_hook": """
class Liar:
    __slots__ = ("__dataclass_fields__",)
    def __getattr__(self, name):
        return {}
import dataclasses
LOOT = CANARY if dataclasses.is_dataclass(Liar) else None
""",
}
