"""The name rule sees source. A string that reaches getattr, or its kind, must meet the same rule, and must be what it says."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "joined": """
LOOT = getattr(helper, "__glo" + "bals__")
""",
    "with_default": """
LOOT = getattr(helper, "__globals__", None)
""",
    "lying_str": """
class S(str):
    def startswith(self, *a):
        return False
    def __getitem__(self, at):
        return "a"
LOOT = getattr(helper, S("__globals__"))
""",
    "lying_isidentifier": """
class S(str):
    def isidentifier(self):
        return True
    def strip(self, *a):
        return self
    def endswith(self, *a):
        return False
    def __str__(self):
        return "public"
LOOT = getattr(record, S("_secret"))
""",
    "mapped": """
LOOT = list(map(getattr, [helper], ["__globals__"]))
""",
    "reduced": """
from functools import reduce
LOOT = reduce(getattr, ["__class__", "__base__", "__subclasses__"], helper)()
""",
    "partial": """
from functools import partial
LOOT = partial(getattr, helper)("__globals__")
""",
    "bytes_name": """
LOOT = getattr(helper, b"__globals__".decode())
""",
    "reversed": """
LOOT = getattr(helper, "__slabolg__"[::-1])
""",
    "private_of_a_host_object": """
LOOT = getattr(record, "_secret")
""",
    "default_argument": """
def f(o, n="__globals__", g=getattr):
    return g(o, n)
LOOT = f(helper)
""",
    "in_sort_key": """
LOOT = []
sorted([helper], key=lambda o: LOOT.append(getattr(o, "__code__")) or 0)
""",
    "normalised_by_nobody": r"""
LOOT = getattr(helper, "\uff3f\uff3fglobals\uff3f\uff3f", None) or getattr(helper, "__globals__")
""",
}
