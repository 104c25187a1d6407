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
if sys.version_info < (3, 12):  # enum's redirect reads nothing there: there is nothing to win
    ATTACKS = {}
