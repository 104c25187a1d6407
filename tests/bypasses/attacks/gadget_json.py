"""C code of json iterates over a dict that `default=` has freed, where it is told not to look for circles.

What it keeps to find a circle is all that holds the dict. Where it keeps that, it finds circles, too.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"

_CIRCLE = """
import json
circle = {{"a": []}}
circle["a"].append(circle)
{ways}
try:
    made.encode(circle)
except RecursionError:
    LOOT = CANARY
"""
_PROPERTY = """
class Encoder(json.JSONEncoder):
    check_circular = property(lambda self: False, lambda self, value: None)
made = Encoder()
"""
_DUMPS = """
class made:
    @staticmethod
    def encode(value):
        return json.dumps(value, check_circular=False)
"""
_BY_CLASS = """
class Encoder(json.JSONEncoder):
    def __init__(self, **options):
        super().__init__(check_circular=False)
class made:
    @staticmethod
    def encode(value):
        return json.dumps(value, cls=Encoder)
"""
_WAYS = {
    "dumps": _DUMPS,
    "cls": _BY_CLASS,
    "argument": "made = json.JSONEncoder(check_circular=False)",
    "attribute": "class Encoder(json.JSONEncoder):\n    pass\nmade = Encoder()\nmade.check_circular = False",
    "property": _PROPERTY,
}
ATTACKS = {name: _CIRCLE.format(ways=ways) for name, ways in _WAYS.items()}
