"""Have enum make a class in the module of another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import enum

Made = enum.Enum("Made", "A", module="os")
print("WON made in", Made.__module__)
