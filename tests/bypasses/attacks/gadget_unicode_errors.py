"""The text of a UnicodeDecodeError shows the byte at `start` of its `object`, whatever and wherever that is."""

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
ATTACKS = {
    "before_the_start": _READ.format(error="UnicodeDecodeError('x', data, at, at + 1, 'r')"),
    "in_a_format": _READ.format(error="f\"{UnicodeDecodeError('x', data, at, at + 1, 'r')}\""),
    "derived": _DERIVED + _READ.format(error="made(at)"),
    "not_bytes": _OBJECT,
    "changed_while_read": _LATE,
}
