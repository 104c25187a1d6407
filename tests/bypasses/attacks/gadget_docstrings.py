"""A dataclass without a docstring asks inspect.signature for one, and that trusts what a cell's class holds.

It compares `__init__` and `__new__` with `type`, which hands `type` to a callable's `__eq__`; and a docstring that begins
like a signature is evaluated with names of any module. The guard asked whether `__doc__` is None, dataclasses whether it
is false.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "empty_docstring": """
from dataclasses import dataclass
held = []
class Call:
    def __call__(self, *values):
        pass
    def __eq__(self, other):
        held.append(other)
        return False
@dataclass(init=False)
class C:
    __doc__ = ""
    __init__ = Call()
    x: int = 1
LOOT = held[0]
""",
    "docstring_of_a_property": """
from dataclasses import dataclass
held = []
class Call:
    def __call__(self, *values):
        pass
    def __eq__(self, other):
        held.append(other)
        return False
class Text:
    def __get__(self, instance, owner=None):
        return ""
@dataclass(init=False)
class C:
    __doc__ = Text()
    __init__ = Call()
    x: int = 1
LOOT = held[0]
""",
}
