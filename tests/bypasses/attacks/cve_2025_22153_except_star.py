"""CVE-2025-22153, RestrictedPython 6.0 to 8.0 on CPython before 3.13.2: `except*` calls the `split` of what was raised, and
does not check the type of what it returns. Cells have the construct, but no group with a `split` of their own.
"""

ADVISORY = "CVE-2025-22153"
GUARANTEE = "no-reflection"
_SPLIT = """
def split(kind):
    global LOOT
    LOOT = CANARY
    return (group, None)
group = ExceptionGroup("eg", [ValueError(1)])
"""
_TRY = """
try:
    raise group
except* ValueError:
    pass
except* Exception:
    pass
"""
ATTACKS = {
    "except_star": f"""{_SPLIT}
group.split = split
{_TRY}""",
    "in_a_function": f"""{_SPLIT}
def f():
    try:
        setattr(group, "split", split)
        raise group
    except* ValueError as caught:
        pass
f()
""",
    "through_its_dict": f"""{_SPLIT}
vars(group)["split"] = split
{_TRY}""",
    "through_its_state": f"""{_SPLIT}
getattr(group, "__setstate__")({{"split": split}})
{_TRY}""",
    "by_the_method_of_object": f"""{_SPLIT}
object.__setattr__(group, "split", split)
{_TRY}""",
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
    "a_group_that_lies_among_two_bases": """
class Mixin:
    def split(self, kind):
        global LOOT
        LOOT = CANARY
        return (self, None)
class Group(Mixin, ExceptionGroup): pass
try:
    raise Group("eg", [ValueError(1)])
except* ValueError:
    pass
""",
    "a_class_by_another_way": """
class Group(type(ExceptionGroup("eg", [ValueError(1)]))):
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
