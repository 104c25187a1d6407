"""CVE-2026-55830, RestrictedPython before 8.3: parameters before `/` were not checked, so that a guard could be shadowed by
an argument. Our guards have no names that source can spell, and the old names stay closed.
"""

ADVISORY = "CVE-2026-55830"
GUARANTEE = "no-reflection"
ATTACKS = {
    "getattr_guard": """
def f(_getattr_=lambda o, n: vars(o)["_secret"], /):
    return record.public
LOOT = f()
""",
    "write_guard": """
def f(_write_=lambda o: o, /):
    record.public = CANARY
f()
LOOT = record.public
""",
    "getitem_guard": """
def f(_getitem_=lambda o, k: record, /):
    return vars({"x": record}["x"])
LOOT = f()
""",
    "in_a_lambda": """
LOOT = (lambda _getattr_=helper, /: vars(record))()
""",
    "print_collector": """
def f(_print_=helper, /):
    return vars(record)
LOOT = f()
""",
}
CONTROLS = {
    "getattr_guard": """
def f(_getattr_=lambda o, n: vars(o)["_secret"], /):
    return _getattr_(record, "public")
LOOT = f()
""",
}
