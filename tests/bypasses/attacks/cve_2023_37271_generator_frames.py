"""CVE-2023-37271, RestrictedPython before 6.1: a generator that throws into itself gets hold of its own frame, and
from there of the globals and builtins of whoever called it.
"""

ADVISORY = "CVE-2023-37271"
GUARANTEE = "no-reflection"
ATTACKS = {
    "gi_frame": """
def g():
    yield 1
LOOT = g().gi_frame
""",
    "walks_back": """
def g():
    yield frames[0].gi_frame.f_back
frames = []
frames.append(g())
LOOT = next(frames[0])
""",
    "gi_code": """
LOOT = (x for x in ()).gi_code
""",
    "by_getattr": """
LOOT = getattr((x for x in ()), "gi_" + "frame")
""",
    "gi_yieldfrom": """
def inner():
    yield 1
def outer():
    yield from inner()
g = outer()
next(g)
LOOT = getattr(g.gi_yieldfrom, "gi_frame")
""",
    "f_globals": """
def g():
    yield 1
LOOT = g().gi_frame.f_globals
""",
}
