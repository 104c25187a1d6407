"""CVE-2026-76825, RestrictedPython before 8.4: string.Formatter resolves fields itself, and returns live objects."""

ADVISORY = "CVE-2026-76825"
GUARANTEE = "no-reflection"
ATTACKS = {
    "get_field": """
import string
LOOT = string.Formatter().get_field("0.__globals__", (helper,), {})
""",
    "vformat": """
import string
LOOT = string.Formatter().vformat("{0._secret}", (record,), {})
""",
    "format": """
from string import Formatter
LOOT = Formatter().format("{0._secret}", record)
""",
    "subclass": """
from string import Formatter
class F(Formatter):
    def convert_field(self, value, conversion):
        global LOOT
        LOOT = value
        return value
F().format("{0.__globals__}", helper)
""",
    "through_the_class": """
import string
LOOT = getattr(string, "For" + "matter")().get_field("0.__globals__", (helper,), {})
""",
}
