"""A dataclass without a docstring asks inspect.signature for one, and that trusts what a cell's class holds.

It compares `__init__` with `type`, which hands `type` to a callable's `__eq__` (or, on Python 3.13, to its `__get__`); and
a docstring that begins like a signature is evaluated with names of any module. The guard asked whether `__doc__` is None,
dataclasses whether it is false.
"""

_CALLABLES = """
from dataclasses import dataclass
held = []
class Call:
    def __call__(self, *values):
        pass
    def __eq__(self, other):
        held.append(other)
        return False
class Bound(Call):
    def __get__(self, instance, owner=None):
        held.append(owner)
        return self
"""
_LOOT = """
LOOT = [each for each in held if isinstance(each, type) and issubclass(each, type)][0]
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "empty_docstring": _CALLABLES
    + """
for made in (Call(), Bound()):
    try:
        @dataclass(init=False)
        class C:
            __doc__ = ""
            __init__ = made
            x: int = 1
    except Exception:
        pass
"""
    + _LOOT,
    "docstring_that_a_default_takes_away": _CALLABLES
    + """
class Clears:
    def __get__(self, instance, owner=None):
        owner.__doc__ = ""
        return 1
for made in (Call(), Bound()):
    try:
        @dataclass(init=False)
        class C:
            "some text"
            __init__ = made
            x: int = Clears()
    except Exception:
        pass
"""
    + _LOOT,
    "docstring_of_a_property": _CALLABLES
    + """
class Text:
    def __get__(self, instance, owner=None):
        return ""
for made in (Call(), Bound()):
    try:
        @dataclass(init=False)
        class C:
            __doc__ = Text()
            __init__ = made
            x: int = 1
    except Exception:
        pass
"""
    + _LOOT,
}
