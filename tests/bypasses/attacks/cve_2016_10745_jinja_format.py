"""CVE-2016-10745, CVE-2019-10906, CVE-2024-56326 and CVE-2025-27516, Jinja2's sandbox: str.format, then format_map, then a
stored reference to format, then the `attr` filter: a rule about a method must follow the method.
"""

ADVISORY = "CVE-2016-10745"
GUARANTEE = "no-reflection"
ATTACKS = {
    "stored_in_a_dict": """
table = {"f": "{0._secret}".format}
LOOT = table["f"](record)
""",
    "stored_in_a_class": """
class C:
    f = staticmethod("{0._secret}".format)
LOOT = C.f(record)
""",
    "passed_to_a_function": """
def call(f, *a):
    return f(*a)
LOOT = call("{0._secret}".format, record)
""",
    "methodcaller": """
from operator import methodcaller
LOOT = methodcaller("format", record)("{0._secret}")
""",
    "methodcaller_format_map": """
from operator import methodcaller
LOOT = methodcaller("format_map", {"r": record})("{r._secret}")
""",
    "attrgetter": """
from operator import attrgetter
LOOT = attrgetter("format")("{0._secret}")(record)
""",
    "userstring": """
from collections import UserString
LOOT = UserString("{0._secret}").format(record)
""",
    "userstring_format_map": """
from collections import UserString
LOOT = UserString("{r._secret}").format_map({"r": record})
""",
    "userstring_subclass": """
from collections import UserString
class U(UserString):
    def leak(self, value):
        return super().format(value)
LOOT = U("{0._secret}").leak(record)
""",
    "descriptor_get": """
LOOT = str.format.__get__("{0._secret}")(record)
""",
    "lambda_in_reduce": """
from functools import reduce
LOOT = reduce(lambda a, t: t.format(record), ["{0._secret}"], "")
""",
    "reversed_template": """
LOOT = "}terces_.0{"[::-1].format(record)
""",
    "joined_template": """
LOOT = ("{0." + "_sec" + "ret}").format(record)
""",
    "template_by_percent": """
LOOT = ("{0.%ssecret}" % "_").format(record)
""",
    "logging_style": """
import logging
LOOT = logging.StrFormatStyle("{r._secret}").format(logging.makeLogRecord({"r": record}))
""",
    "csv_like_writer": """
class W:
    def __init__(self, t):
        self.write = t.format
LOOT = W("{0._secret}").write(record)
""",
}
