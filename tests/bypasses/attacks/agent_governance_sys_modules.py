"""microsoft/agent-governance-toolkit #2631 and autogen #7462: whatever is filtered, sys.modules has it already."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "sys_modules": """
import sys
LOOT = sys.modules["posix"]
""",
    "through_a_class_module": """
LOOT = __import__("sys").modules[helper.__module__]
""",
    "through_dataclasses": """
import dataclasses
LOOT = dataclasses.sys.modules
""",
    "through_enum_convert": """
from enum import Enum
class B(Enum):
    pass
X = B._convert_("X", "os", lambda name: name == "system")
LOOT = X.system.value
""",
    "through_enum_convert_of_a_flag": """
import re
LOOT = re.RegexFlag._convert_
LOOT = [m.value for m in type(re.I).__mro__[-2]._convert_("X", "os", lambda n: n == "system")]
""",
    "through_enum_convert_in_a_classmethod": """
from enum import Enum
class B(Enum):
    @classmethod
    def steal(cls):
        return cls._convert_("X", "os", lambda name: name == "system")
LOOT = B.steal().system.value
""",
    "through_global_enum": """
import enum, sys
@enum.global_enum
class LOOTER(enum.Enum):
    LOOT = 1
LOOT = sys.modules[LOOTER.__module__]
""",
    "through_a_warning": """
import warnings
LOOT = warnings.sys.modules
""",
    "through_the_import_error": """
try:
    from json import nothing
except ImportError as error:
    LOOT = __import__(error.name).codecs
""",
}
