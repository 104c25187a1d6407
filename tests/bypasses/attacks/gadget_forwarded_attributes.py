"""Aliases of typing and bound methods answer with an attribute of another object, past a look at whose it is.

What is looked at so: `obj` of an AttributeError, `flags` and `traps` of a decimal.Context, and `mro` of a class, which
an alias of `type` has for every class. The real enum.Enum among its bases makes classes with any attribute.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_HELD = """
from typing import Annotated
class Missing(AttributeError): pass
error = Missing("x", name="x", obj=CANARY)
"""
_CONTEXT = """
import typing
from decimal import Context
flags = {read}
keep = [bytearray(b"\\xff" * n) for n in (79, 80, 81, 95, 96) for i in range(40)]
for signal in list(flags):
    flags[signal] = False
if any(0 in each for each in keep):
    LOOT = CANARY
"""
_ORDER = """
import enum, typing
class Own(enum.Enum):
    a = 1
made = {read}(Own)[-2]("Made", {{"a": 1, "__class__": property(lambda self: int)}})
if isinstance(made["a"], int):
    LOOT = CANARY
"""
ATTACKS = {
    "obj_of_annotated": f"""{_HELD}
LOOT = Annotated[error, 0].obj
""",
    "obj_of_two_aliases": f"""{_HELD}
LOOT = Annotated[Annotated[error, 0], 1].obj
""",
    "obj_by_getattr": f"""{_HELD}
LOOT = getattr(Annotated[error, 0], "obj", None)
""",
    "obj_of_a_bound_class_method": f"""{_HELD}
class Missing(AttributeError):
    def __call__(self): pass
class Holder:
    method = classmethod(Missing("x", name="x", obj=CANARY))
LOOT = Holder.method.obj
""",
    "flags_of_annotated": _CONTEXT.format(read="typing.Annotated[Context(), 0].flags"),
    "traps_of_annotated": _CONTEXT.format(read="typing.Annotated[Context(), 0].traps"),
    "flags_by_getattr": _CONTEXT.format(read='getattr(typing.Annotated[Context(), 0], "flags")'),
    "flags_of_a_bound_class_method": """
from decimal import Context
class Holder:
    method = classmethod(Context())
if type(Holder.method.flags).__name__ == "SignalDict":
    LOOT = CANARY
""",
    "mro_of_type": _ORDER.format(read="typing.Type.mro"),
    "mro_of_an_alias_of_type": _ORDER.format(read="typing.Type[int].mro"),
    "mro_of_two_aliases": _ORDER.format(read="typing.Annotated[typing.Type, 0].mro"),
    "mro_by_getattr": _ORDER.format(read='getattr(typing.Type, "mro")'),
}
#: typing keeps what it made in a cache, which cells do not have.
CONTROLS = {
    name: source.replace("keep =", "for each in typing._cleanups: each()\nkeep =") for name, source in ATTACKS.items()
}
