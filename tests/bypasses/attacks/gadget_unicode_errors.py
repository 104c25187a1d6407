"""The text of a UnicodeDecodeError shows the byte at `start` of its `object`, whatever and wherever that is.

And `__init__` of such an error holds what it was given only after it asked `start` and `end` for a number.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_READ = """
data = b"abc"
text = ""
for at in range(-16, 0):
    text += str({error})
# The eight bytes before the hash of a bytes object are its length: 3.
LOOT = CANARY if text.count("byte 0x") == 16 and "byte 0x03" in text else None
"""
_DERIVED = """
class E(UnicodeDecodeError):
    pass
def made(at):
    error = E("x", data, 0, 1, "r")
    error.start, error.end = at, at + 1
    return error
"""
_OBJECT = """
class E(UnicodeDecodeError):
    pass
error = E("x", b"abc", 0, 1, "r")
error.object = ("held", "held", "held")
LOOT = CANARY if "byte 0x" in str(error) else None
"""
_LATE = """
class Text(str):
    def __str__(self):
        error.start, error.end = -16, -15
        return "r"
class E(UnicodeDecodeError):
    pass
error = E("x", b"abc", 0, 1, "r")
error.reason = Text("r")
LOOT = CANARY if "byte 0x03" in str(error) else None
"""
_TAKEN = """
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
class Held(str):
    pass
class E({kind}):
    pass
class Index:
    def __index__(self):
        {hook}
        return 0
def take(held):
    try:
        e.__init__({given})
    except TypeError:
        pass
    e.args = ()
e = E({first})
held = Held("abc")
held.opened = opened()
next(held.opened)
take(held)
others = [Held("abc") for _ in range(9)]
LOOT = CANARY if ended else None
"""


def _taken(kind: str, given: str, first: str, hook: str = "e.object = None") -> str:
    """One reference is taken from `held`, which a variable holds."""
    return _TAKEN.format(kind=kind, given=given, first=first, hook=hook)


_BYTES, _TEXT, _ALONE = "'x', b'abc', 0, 1, 'r'", "'x', 'abc', 0, 1, 'r'", "'abc', 0, 1, 'r'"
ATTACKS = {
    "before_the_start": _READ.format(error="UnicodeDecodeError('x', data, at, at + 1, 'r')"),
    "in_a_format": _READ.format(error="f\"{UnicodeDecodeError('x', data, at, at + 1, 'r')}\""),
    "derived": _DERIVED + _READ.format(error="made(at)"),
    "not_bytes": _OBJECT,
    "changed_while_read": _LATE,
    "start_of_what_is_decoded": _taken("UnicodeDecodeError", "'x', held, Index(), 1, 'r'", _BYTES),
    "end_of_what_is_decoded": _taken("UnicodeDecodeError", "'x', held, 0, Index(), 'r'", _BYTES),
    "start_of_what_is_encoded": _taken("UnicodeEncodeError", "'x', held, Index(), 1, 'r'", _TEXT),
    "end_of_what_is_translated": _taken("UnicodeTranslateError", "held, 0, Index(), 'r'", _ALONE),
    "encoding": _taken("UnicodeEncodeError", "held, 'abc', Index(), 1, 'r'", _TEXT, "e.encoding = None"),
    "made_again": _taken("UnicodeEncodeError", "'x', held, Index(), 1, 'r'", _TEXT, f"e.__init__({_TEXT})"),
}
