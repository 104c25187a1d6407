"""State of library classes and functions, changed from a cell through a way that is no attribute store."""

_TABLE = """
class Writer:
    def __eq__(self, other):
        other[ord("x")] = ord("y")
        return True
    def __ror__(self, other):
        other[ord("x")] = ord("y")
        return {}
"""
_WRAPS = (
    "any(wrapper().fill('x') != 'x' for wrapper in [__import__('textwrap').TextWrapper, *("
    "[sys.modules['rlm_secure.guest.language.facades'].load('textwrap').TextWrapper] "
    "if 'rlm_secure.guest.language.facades' in sys.modules else [])])"
)

ADVISORY = ""
GUARANTEE = "session-isolation"
ATTACKS = {
    "table_through_super": """
import textwrap
super(textwrap.TextWrapper, textwrap.TextWrapper()).unicode_whitespace_trans[ord("x")] = ord("y")
""",
    "table_through_a_proxy": _TABLE
    + """
import textwrap
textwrap.TextWrapper().unicode_whitespace_trans == Writer()
""",
    "table_through_a_proxy_union": _TABLE
    + """
import textwrap
textwrap.TextWrapper().unicode_whitespace_trans | Writer()
""",
    "orig_class_on_a_function": """
import typing
T = typing.TypeVar("T")
class C(typing.Generic[T]):
    def __new__(cls):
        return helper
C[int]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_on_a_library_class": """
import collections.abc, typing
T = typing.TypeVar("T")
class C(typing.Generic[T]):
    def __new__(cls):
        return collections.abc.Mapping
C[int]()
LOOT = CANARY if hasattr(collections.abc.Mapping, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_a_container": """
class C(list):
    def __new__(cls, *values):
        return helper
C[int]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_a_namedtuple": """
import collections
C = collections.namedtuple("C", "x")
C.__new__ = lambda cls, *values: helper
C[int](1)
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_a_typed_namedtuple": """
import typing
C = typing.NamedTuple("C", [("x", int)])
C.__new__ = lambda cls, *values: helper
C[int](1)
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_a_class_in_the_making": """
class Early:
    def __set_name__(self, owner, name):
        kept.append(owner[int])
kept = []
class C(list):
    early = Early()
    def __new__(cls, *values):
        return helper
kept[0]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_a_class_with_slots": """
import dataclasses
class Early:
    def __set_name__(self, owner, name):
        kept.append(owner[int])
kept = []
@dataclasses.dataclass(slots=True)
class C(list):
    x: int = 1
    early = Early()
    def __new__(cls, *values):
        return helper
kept[-1]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_below_a_method": """
class C(list):
    @classmethod
    def __class_getitem__(cls, item):
        return cls
    def __new__(cls, *values):
        return helper
del C.__class_getitem__
C[int]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_that_comes_back": """
class C(list):
    def __new__(cls, *values):
        return helper
try:
    delattr(C, "__class_getitem__")
except AttributeError:
    pass
C[int]()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "orig_class_by_an_alias_of_type": """
type[int](record)
LOOT = CANARY if hasattr(type(record), "__orig_class__") else None
""",
    "defaults_of_a_library_namedtuple": """
import decimal
decimal.DecimalTuple._field_defaults["x"] = CANARY
LOOT = decimal.DecimalTuple._field_defaults
""",
    "metadata_of_every_field": """
import dataclasses
class Writer:
    def __eq__(self, other):
        other["x"] = CANARY
        return True
dataclasses.field().metadata == Writer()
LOOT = [dataclasses.field().metadata.get("x")]
""",
    "groups_of_a_cached_pattern": """
import re
class Writer:
    def __ror__(self, other):
        other["x"] = CANARY
        return {}
re.compile("(?P<a>b)").groupindex | Writer()
LOOT = [re.compile("(?P<a>b)").groupindex.get("x")]
""",
    "orig_class_by_the_class_of_an_alias": """
import typing
type(typing.List[int])(lambda: helper, (int,))()
LOOT = CANARY if hasattr(helper, "__orig_class__") else None
""",
    "setstate_that_writes_on_any_self": """
import random
try:
    random.Random.setstate(record, (3, (), CANARY))
except Exception:
    pass
LOOT = record.gauss_next
""",
    "runtime_checkable_of_a_library_protocol": """
import typing
typing.runtime_checkable(typing.Protocol)
LOOT = CANARY if hasattr(typing.Protocol, "_is_runtime_protocol") else None
""",
}
CONTROLS = {
    name: _TABLE.replace("def __eq__(self, other):", "def __eq__(self, other, *_):")
    + """
import textwrap
textwrap.TextWrapper.unicode_whitespace_trans """
    + operator
    + " Writer()\n"
    for name, operator in (("table_through_a_proxy", "=="), ("table_through_a_proxy_union", "|"))
}
CONTROLS["table_through_super"] = """
import textwrap
textwrap.TextWrapper().unicode_whitespace_trans[ord("x")] = ord("y")
"""
DAMAGE = {
    "table_through_super": _WRAPS,
    "table_through_a_proxy": _WRAPS,
    "table_through_a_proxy_union": _WRAPS,
}
