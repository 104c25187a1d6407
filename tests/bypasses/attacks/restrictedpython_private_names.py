"""`_x` is a cell's own on its own classes, and nobody's on anything else."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "read": """
LOOT = record._secret
""",
    "in_an_fstring": """
LOOT = f"{record._secret}"
""",
    "in_an_fstring_with_equals": """
LOOT = f"{record._secret=}"
""",
    "mangled": """
class _Record:
    def f(self, o):
        return o._secret
LOOT = _Record().f(record)
""",
    "own_class_then_foreign": """
class C:
    _secret = 1
def read(o):
    return o._secret
read(C())
LOOT = read(record)
""",
    "class_with_the_same_name": """
class Record:
    def f(self, o):
        return o._secret
LOOT = Record().f(record)
""",
    "lying_class": """
class C:
    @property
    def __class__(self):
        return type(record)
LOOT = (C(), record._secret)
""",
    "private_of_a_made_stream": """
import pprint
LOOT = pprint.PrettyPrinter()._stream
""",
    "private_of_a_subclass": """
import pprint
class P(pprint.PrettyPrinter):
    def leak(self):
        return self._dispatch
LOOT = list(P().leak().values())[0].__globals__
""",
    "super_private": """
import random
class R(random.Random):
    def leak(self):
        return super()._randbelow.__func__.__globals__
LOOT = R().leak()
""",
    "augmented": """
record._secret += ""
LOOT = record._secret
""",
    "deleted": """
del record._secret
LOOT = None if hasattr(record, "_secret") else CANARY
""",
}
CONTROLS = {
    "private_of_a_made_stream": """
import pprint, sys
LOOT = [pprint.PrettyPrinter()._stream and vars(pprint)["_sys"]]
""",
}
