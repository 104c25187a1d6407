"""`x.name += y` is one node and two accesses: the load went past the guard on loads, and `y` is handed what came."""

ADVISORY = ""
GUARANTEE = "no-reflection"
_TAKE = """
got = []
class Take:
    def __radd__(self, other):
        got.append(other)
        return other
def attempt(work):
    try:
        work()
    except Exception:
        pass
class Text(str): pass
class Plain: pass
"""
_WALK = """
LOOT = got[0]("{0.__globals__[SECRET]}", helper)
"""
_PUT = """
got[0](record, "_added", 1)
if hasattr(record, "_added"):
    LOOT = CANARY
"""
ATTACKS = {
    "format": f"{_TAKE}\nText.format += Take(){_WALK}",
    "format_of_an_instance": f"""{_TAKE}
text = Text("{{0.__globals__[SECRET]}}")
text.format += Take()
LOOT = got[0](helper)
""",
    "format_map_by_a_parameter": f"""{_TAKE}
def f(kind):
    kind.format_map += Take()
f(Text)
LOOT = got[0]("{{x.__globals__[SECRET]}}", {{"x": helper}})
""",
    "format_of_a_longer_target": f"""{_TAKE}
class Holder:
    kind = Text
Holder().kind.format += Take(){_WALK}""",
    "format_in_a_class_body": f"""{_TAKE}
class Body:
    Text.format += Take()
{_WALK}""",
    "set_attribute": f"""{_TAKE}
def work():
    Plain.__setattr__ += Take()
attempt(work){_PUT}""",
    "library_init": f"""{_TAKE}
import json
class Encoder(json.JSONEncoder): pass
def work():
    Encoder.__init__ += Take()
attempt(work)
got[0](record)
if hasattr(record, "skipkeys"):
    LOOT = CANARY
""",
    "new": f"""{_TAKE}
import json
def work():
    Plain.__new__ += Take()
attempt(work)
if type(got[0](json.JSONEncoder)) is json.JSONEncoder:
    LOOT = CANARY
""",
    "obj": f"""{_TAKE}
class Missing(AttributeError): pass
error = Missing("x", name="x", obj=CANARY)
def work():
    error.obj += Take()
attempt(work)
LOOT = got[0]
""",
    "the_whole_way": f"""{_TAKE}
import json
Text.format += Take()
def work():
    Plain.__setattr__ += Take()
attempt(work)
walk, put = got
try:
    walk("{{0.__globals__[json].codecs.sys.nope}}", json.dumps)
except AttributeError as error:
    held = error
class Items(list): pass
from typing import List
alias = List[int]
put(alias, "__origin__", held)
LOOT = alias.obj
""",
}
CONTROLS = {"the_whole_way": ATTACKS["the_whole_way"].replace("[json].codecs", "[codecs]")}
