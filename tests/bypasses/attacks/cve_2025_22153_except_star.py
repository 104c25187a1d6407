"""CVE-2025-22153, RestrictedPython 6.0 to 8.0 on CPython before 3.13.2: `except*` hands the interpreter an object of a
type that it does not check. The control only shows that plain Python runs the construct.
"""

ADVISORY = "CVE-2025-22153"
GUARANTEE = "no-reflection"
ATTACKS = {
    "except_star": """
try:
    raise ExceptionGroup("eg", [ValueError(1)])
except* ValueError:
    LOOT = CANARY
""",
    "in_a_function": """
def f():
    global LOOT
    try:
        raise ExceptionGroup("eg", [ValueError(1)])
    except* ValueError as group:
        LOOT = CANARY
f()
""",
    "a_group_that_lies": """
class Group(ExceptionGroup):
    def split(self, kind):
        global LOOT
        LOOT = CANARY
        return (self, None)
try:
    raise Group("eg", [ValueError(1)])
except* ValueError:
    pass
""",
}
