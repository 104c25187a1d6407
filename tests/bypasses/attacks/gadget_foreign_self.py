"""A class hands out its methods as plain functions, and library code does to any `self` what was written for its own: it
calls `self.__class__`, which of a class is `type`; it sets attributes.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "counter_copy_of_a_class": """
import collections
LOOT = collections.Counter.copy(int)
""",
    "counter_copy_by_super": """
import collections
LOOT = super(collections.Counter, collections.Counter).copy and collections.Counter.copy(int)
""",
    "counter_copy_of_an_own_class": """
import collections
class C:
    pass
LOOT = collections.Counter.copy(C)
""",
    "chainmap_makes_a_class": """
import collections
class C:
    maps = ((), {"__getattr__": lambda self, name: CANARY})
LOOT = getattr(collections.ChainMap.new_child(C, "X")(), "anything")
""",
    "chainmap_copy_makes_a_class": """
import collections
class Name(dict):
    def copy(self):
        return "X"
class C:
    maps = (Name(), (), {"__getattr__": lambda self, name: CANARY})
LOOT = getattr(collections.ChainMap.copy(C)(), "anything")
""",
    "chainmap_parents_makes_a_class": """
import collections
class C:
    maps = (None, "X", (), {"__getattr__": lambda self, name: CANARY})
LOOT = getattr(collections.ChainMap.parents.fget(C)(), "anything")
""",
    "chainmap_by_super": """
import collections
class C:
    maps = ((), {"__getattr__": lambda self, name: CANARY})
class D(collections.ChainMap):
    pass
LOOT = getattr(super(D, D).new_child(C, "X")(), "anything")
""",
    "counter_by_typing_alias": """
import typing
LOOT = typing.Counter.copy(int)
""",
    "abstractmethod_of_a_host_class": """
import abc
abc.abstractmethod(type(record))
LOOT = CANARY if hasattr(type(record), "__isabstractmethod__") else None
""",
    "abstractmethod_of_a_host_function": """
import abc
abc.abstractmethod(helper)
LOOT = CANARY if hasattr(helper, "__isabstractmethod__") else None
""",
    "calendar_writes": """
import calendar
calendar.Calendar.setfirstweekday(record, CANARY)
LOOT = CANARY if hasattr(record, "_firstweekday") else None
""",
    "calendar_property_writes": """
import calendar
calendar.Calendar.firstweekday.fset(record, CANARY)
LOOT = CANARY if hasattr(record, "_firstweekday") else None
""",
    "dictreader_property_writes": """
import csv
csv.DictReader.fieldnames.fset(record, CANARY)
LOOT = CANARY if hasattr(record, "_fieldnames") else None
""",
    "memo_shows_private_state": """
import copy
memo = {}
copy.deepcopy(record, memo)
LOOT = memo
""",
    "memo_of_a_hook_shows_private_state": """
import copy
class C:
    def __deepcopy__(self, memo):
        global LOOT
        LOOT = dict(memo)
        return self
copy.deepcopy([record, C()])
""",
    "overload_of_a_host_function": """
import typing
typing.final(type(record))
LOOT = CANARY if hasattr(type(record), "__final__") else None
""",
    "no_type_check_of_a_host_class": """
import typing
typing.no_type_check(type(record))
LOOT = CANARY if hasattr(type(record), "__no_type_check__") else None
""",
}
