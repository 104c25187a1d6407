"""What honest cells may read of exceptions and classes leads to others: `__context__` to what library code and guards
handled themselves, `__mro__` and `__bases__` to classes that nobody handed out, `__class__` to `type`.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "a_context_of_the_library": """
import json
try:
    json.nothing_like_this
except AttributeError as error:
    LOOT = error.__traceback__.tb_frame
""",
    "a_frame_through_a_context": """
try:
    try:
        1 / 0
    finally:
        [][1]
except IndexError as error:
    LOOT = getattr(error.__context__, "__traceback__").tb_frame
""",
    "subclasses_of_a_base": """
LOOT = getattr(bool.__mro__[-1], "__subclasses__")
""",
    "a_metaclass_by_class": """
class A: pass
LOOT = A.__class__("B", (), {"x": CANARY}).x
""",
    "a_metaclass_by_class_twice": """
LOOT = (5).__class__.__class__("B", (), {"x": CANARY}).x
""",
    "a_class_that_a_base_made": """
class A(Exception): pass
LOOT = getattr(A.__bases__[0].__base__, "__subclasses__")
""",
    "the_class_of_an_instance_changed": """
class A: pass
class B:
    x = CANARY
a = A()
vars(a)["__class__"] = B
setattr(a, "__class__", B)
LOOT = a.x
""",
    "a_dict_that_replaces_another": """
class A: pass
a, b = A(), A()
b.x = CANARY
a.__dict__ = vars(b)
LOOT = a.x
""",
    "a_default_of_the_library": """
LOOT = vars(type(helper))["__globals__"].__get__(helper) if helper.__defaults__ is None else CANARY
""",
}
