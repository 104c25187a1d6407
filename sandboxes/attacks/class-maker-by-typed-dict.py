"""Make a class through the call form of TypedDict and look at its metaclass.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import typing

Made = typing.TypedDict("Made", {"a": int})
print("WON reached", type(Made).__subclasses__)
