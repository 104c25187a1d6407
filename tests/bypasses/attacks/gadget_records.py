"""Library code trusts the private records that it keeps in a cell's own class, and a cell could write them.

`Flag._missing_` names whatever `_member_type_` of the class makes: a flag of `re`, or any other object. The public
methods of a named tuple are attributes of a class that everybody shares.
"""

ADVISORY = ""
GUARANTEE = "session-isolation"
_TUPLE = """
import urllib.parse
kind = type(urllib.parse.urlparse("http://x/"))
"""
_FLAG = """
from enum import Flag
import re
class F(Flag):
    A = 1
    B = 2
class M:
    def __new__(cls, value):
        return re.IGNORECASE
{store}
try:
    F(3)
except TypeError:
    pass
"""
_ENUM = """
from enum import Enum
class E(Enum):
    A = 1
{store}
"""
ATTACKS = {
    "member_type": _FLAG.format(store="F._member_type_ = M"),
    "member_type_by_setattr": _FLAG.format(store="setattr(F, '_member_type_', M)"),
    "member_map": _ENUM.format(store="E._member_map_['B'] = CANARY\nLOOT = E['B']"),
    "member_map_stored": _ENUM.format(store="E._member_map_ = {'B': CANARY}\nLOOT = E['B']"),
    "value_map": _ENUM.format(store="E._value2member_map_[2] = CANARY\nLOOT = E(2)"),
    "value_map_of_a_member": _ENUM.format(store="E.A._value2member_map_[2] = CANARY\nLOOT = E(2)"),
    "value_map_by_vars": _ENUM.format(store="vars(E)['_value2member_map_'][2] = CANARY\nLOOT = E(2)"),
    "value_map_by_getattr": _ENUM.format(store="getattr(E, '_value2member_map_')[2] = CANARY\nLOOT = E(2)"),
    "method_of_a_shared_tuple": _TUPLE + "kind._replace = lambda self, **names: CANARY\n",
    "fields_of_a_shared_tuple": _TUPLE + "setattr(kind, '_fields', ('scheme',))\n",
}
DAMAGE = {name: "repr(__import__('re').IGNORECASE) != 're.IGNORECASE'" for name in ATTACKS if "member_type" in name} | {
    "method_of_a_shared_tuple": "__import__('urllib.parse').parse.urlparse('http://x/')._replace() == CANARY",
    "fields_of_a_shared_tuple": "len(__import__('urllib.parse').parse.urlparse('http://x/')._asdict()) == 1",
}
