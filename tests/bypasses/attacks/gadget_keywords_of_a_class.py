"""Keywords of a class statement come out of a mapping: a key that is no plain str answers the check and the interpreter.

The interpreter takes it for `metaclass`, and runs the class body in whatever the metaclass's `__prepare__` returns: there
the guards of the body are looked up by name.
"""

_KEY = """
class Key(str):
    asked = 0
    def __hash__(self):
        return hash("metaclass")
    def __eq__(self, other):
        Key.asked += 1
        return Key.asked > ASKED and str.__eq__(self, other)
    def startswith(self, *values):
        return False
class Space(dict):
    def __missing__(self, name):
        if name == "<classes>":
            return ()
        if name.startswith("<"):
            return lambda value, *rest: value
        raise KeyError(name)
class Meta:
    def __getattr__(self, name):
        if name == "__prepare__":
            return lambda *values, **options: Space()
        raise AttributeError(name)
    def __call__(self, name, bases, space, **options):
        return space
"""
_BODY = """
taken = []
try:
    class C(**{Key("metaclass"): Meta()}):
        taken.append(record._secret)
except Exception:
    pass
LOOT = taken
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    f"asked_{count}_times": _KEY.replace("ASKED", str(count)) + _BODY for count in range(4)
}
CONTROLS = dict.fromkeys(
    ATTACKS,
    """
class C(metaclass=lambda name, bases, space: space):
    found = record._secret
LOOT = C["found"]
""",
)
