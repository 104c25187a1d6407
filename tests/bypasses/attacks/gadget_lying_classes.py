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
    "slot_of_another_hook": """
class Liar:
    __slots__ = ("__dataclass_fields__",)
    def __getattr__(self, name):
        return {}
import dataclasses
LOOT = CANARY if dataclasses.is_dataclass(Liar) else None
""",
}
