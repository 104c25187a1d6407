"""A class pattern in the body of an enum: the class that was looked at is kept in a name there, and an enum unwraps it."""

import re

ADVISORY = ""
GUARANTEE = "no-reflection"
_ENUM = """
import collections.abc
from enum import Enum, auto, member, nonmember
class G(collections.abc.Hashable):
    __match_args__ = ("__globals__",)
    def __hash__(self): return 1
G.register(collections.abc.Callable)
got = []
{kept}
{body}
LOOT = got[0]
"""
_BODY = """
class E(Enum):
    A = 1
    match helper:
        case kept(found): got.append(found)
"""
_AUTO = """
class E(Enum):
    def _generate_next_value_(name, start, count, last): return G
    match helper:
        case kept(found): got.append(found)
"""
_NESTED = """
class Plain:
    class E(Enum):
        A = 1
        match [helper]:
            case [kept(found)]: got.append(found)
"""
ATTACKS = {
    "nonmember_in_an_enum": _ENUM.format(kept="kept = nonmember(G)", body=_BODY),
    "member_in_an_enum": _ENUM.format(kept="kept = member(G)", body=_BODY),
    "auto_in_an_enum": _ENUM.format(kept="kept = auto()", body=_AUTO),
    "nested_in_an_enum": _ENUM.format(kept="kept = nonmember(G)", body=_NESTED),
}
#: What enum unwraps, plain Python looks up in the enum itself.
CONTROLS = {
    name: re.sub("kept = .*", "kept = G", source) for name, source in ATTACKS.items() if name.endswith("_in_an_enum")
}
