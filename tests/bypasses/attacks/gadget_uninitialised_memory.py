"""A method of C code makes an object of the type of its self, with the memory of its own type.

`date.replace` of a datetime gave one whose hour, microsecond and tzinfo were whatever lay behind: a fake object of the
cell's choice, up to Python 3.12.
"""

_SPRAY = """
import datetime
kept = [bytes([65]) * size for size in range(20, 60) for _ in range(200)]
del kept[:]
d = datetime.datetime(2000, 1, 1)
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "date_replace": _SPRAY
    + """
made = [datetime.date.replace(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_super": _SPRAY
    + """
made = [super(datetime.datetime, d).replace() for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_derived_class": _SPRAY
    + """
class D(datetime.date):
    pass
made = [D.replace(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_pattern": _SPRAY
    + """
match datetime.date:
    case object(replace=function):
        made = [function(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_methodcaller": _SPRAY
    + """
import operator
made = [operator.methodcaller("replace", d)(datetime.date) for _ in range(2000)]
LOOT = CANARY if made else None
""",
}
