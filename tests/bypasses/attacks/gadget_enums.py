"""enum puts objects of its own into a cell's class, and they trust the class and the name that they are found under.

A redirect stands where a member hides something of a base: it reads attributes of an instance's value, by a name. A
member that waits to be made writes on whatever the class that it is bound to makes. A flag writes on its combinations.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_REDIRECT = """
from enum import Enum
class D:
    def __get__(self, instance, owner=None):
        return self
class Mix:
    {name} = D()
class E(Mix, Enum):
    other = {value}
    {name} = 1
"""
_LENT = (
    _REDIRECT.format(name="x", value="2")
    + """
redirect = vars(E)["x"]
class Y:
    get = redirect
class N:
    _secret = redirect
y = Y()
y._value_ = record
LOOT = y.get
"""
)
_MADE_MEANWHILE = """
from enum import Enum
kept = []
class D:
    def __get__(self, instance, owner=None):
        return self
class Mix:
    x = D()
class E(Mix, Enum):
    x = 1
    b = 2
    def __init__(self, *values):
        kept.extend(vars(type(self)).values())
class Y:
    pass
y = Y()
y._value_ = record
LOOT = []
for at in range(len(kept)):
    try:
        class Y:
            get = kept[at]
        class N:
            _secret = kept[at]
        y = Y()
        y._value_ = record
        LOOT.append(y.get)
    except Exception:
        pass
"""
ATTACKS = {
    "redirect_by_vars": _LENT,
    "redirect_of_a_private_name": _REDIRECT.format(name="_secret", value="record") + "LOOT = E.other._secret\n",
    "redirect_while_members_are_made": _MADE_MEANWHILE,
    "redirect_to_format_of_text": """
from enum import Enum
class E(str, Enum):
    other = "{0.__globals__}"
    format = "x"
LOOT = E.other.format(helper)
""",
}
_DATE = """
from datetime import datetime, timedelta
from enum import EJECT, Enum, Flag
class F0(Flag):
    pass
class F({bases}, boundary=EJECT):
    A = 1
    def __new__(cls, value):
        made = super().__new__(cls, 2000, 1, 1)
        made._value_ = value
        return made
    @classmethod
    def _missing_(cls, value):
        return 1
LOOT = CANARY if type(F.A + timedelta(1)) is int else None  # C code writes into it, as if it were a date
"""
ATTACKS |= {
    "date_that_is_a_flag": _DATE.format(bases="datetime, Flag"),
    "date_that_is_a_flag_by_another_base": _DATE.format(bases="datetime, F0, Enum"),
}
if sys.version_info < (3, 12):  # a redirect reads nothing there, and an enum takes no dates: there is nothing to win
    ATTACKS = {}
_WRITE = """
from enum import Enum
kept = []
class E(Enum):
    a = 1
    b = ("limits.cost_usd", "pay 5 dollars")
    def __init__(self, *values):
        try:
            {kept}
        except (AttributeError, KeyError):
            pass
def write(target):
    for each in kept:
        class X:
            _use_args_ = False
            _member_type_ = object
            _member_names_ = []
            _member_map_ = {{}}
            _value2member_map_ = {{}}
            _unhashable_values_ = []
            _new_member_ = staticmethod(lambda cls: target)
            _add_member_ = staticmethod(lambda *names: None)
            b = each
import re
write(re.IGNORECASE)
"""
_COMBINED = """
from enum import Enum, Flag
import re
class M:
    armed = False
    def __new__(cls, value=None):
        if M.armed:
            return re.MULTILINE
        made = object.__new__(cls)
        made._value_ = value
        return made
class F0(Flag):
    pass
class F({bases}):
    A = 1
    B = 2
M.armed = True
{combine}
"""
ATTACKS |= {
    "waiting_member": _WRITE.format(kept="kept.append(type(self).b)"),
    "waiting_member_by_vars": _WRITE.format(kept="kept.append(vars(type(self))['b'])"),
    "combined": _COMBINED.format(bases="M, F0, Enum", combine="F(3)"),
    "combined_by_or": _COMBINED.format(bases="M, F0, Enum", combine="F.A | F.B"),
    "combined_by_super": _COMBINED.format(bases="M, F0, Enum", combine="super(Flag, F)._missing_(3)"),
    "combined_with_a_flag_last": _COMBINED.format(bases="M, F0", combine="F(3)"),
}
DAMAGE = {name: "repr(__import__('re').IGNORECASE) != 're.IGNORECASE'" for name in ATTACKS if "waiting" in name} | {
    name: "repr(__import__('re').MULTILINE) != 're.MULTILINE'" for name in ATTACKS if "combined" in name
}
CONTROLS = {"combined_by_super": ATTACKS["combined"]}  # what it skips is no class of plain Python
