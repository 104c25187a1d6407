"""Enum's functional form makes classes with any attribute, and its metaclass has methods that read modules."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "dunder_member": """
import enum
E = enum.Enum("E", {"__getattr__": lambda self, name: CANARY, "A": 1})
LOOT = getattr(E.A, "anything")
""",
    "getattribute_member": """
from enum import Enum
class B(Enum):
    pass
E = B._create_("E", {"A": 1, "__getattr__": lambda self, name: CANARY})
LOOT = getattr(E.A, "anything")
""",
    "new_member": """
import enum
class E(enum.Enum):
    A = 1
LOOT = E._new_member_(type(record)), E._new_member_.__self__.__subclasses__()
""",
    "convert": """
import enum
LOOT = enum.Enum._convert_("X", "os", lambda name: name == "system").system.value
""",
    "convert_by_getattr": """
import enum
LOOT = getattr(enum.IntEnum, "_con" + "vert_").__func__.__globals__
""",
    "call_with_module": """
import enum
LOOT = CANARY if enum.Enum("E", "A", module="sys").__module__ == "sys" else None
""",
    "member_map_of_a_library": """
import re
re.RegexFlag._member_map_["LOOT"] = CANARY
LOOT = re.RegexFlag["LOOT"]
""",
    "members_by_class": """
import re
LOOT = re.RegexFlag.__members__.__class__, re.RegexFlag.__class__
""",
    "property_fget": """
import enum
class E(enum.Enum):
    A = 1
LOOT = vars(enum.Enum)["name"].fget.__globals__
""",
    "simple_enum": """
import enum
LOOT = enum._simple_enum.__globals__
""",
}
