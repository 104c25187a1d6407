"""CVE-2026-4963, smolagents: the dunder check covered reads by `a.b` only; augmented assignment, plain stores, hasattr and
setattr went past it, up to replacing a function's code.
"""

ADVISORY = "CVE-2026-4963"
GUARANTEE = "no-reflection"
ATTACKS = {
    "code_by_store": """
def f():
    return CANARY
helper.__code__ = f.__code__
LOOT = helper()
""",
    "code_by_augmented_store": """
helper.__defaults__ += (CANARY,)
LOOT = helper()
""",
    "defaults_by_store": """
helper.__defaults__ = (CANARY,)
LOOT = helper()
""",
    "class_by_store": """
class C:
    def method(self):
        return CANARY
record.__class__ = C
LOOT = record.method()
""",
    "dict_by_store": """
record.__dict__ = {"public": CANARY}
LOOT = record.public
""",
    "dict_by_item": """
record.__dict__["public"] = CANARY
LOOT = record.public
""",
    "setattr_class": """
class C:
    def method(self):
        return CANARY
setattr(record, "__class__", C)
LOOT = record.method()
""",
    "bases_by_store": """
class A:
    pass
class B(A):
    pass
B.__bases__ = (type(record),)
LOOT = B()._secret
""",
    "delete_a_dunder": """
class C:
    x = 1
del type(record).__init__
LOOT = CANARY
""",
}
