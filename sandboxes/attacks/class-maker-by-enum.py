"""Make a class with hidden names through the call form of Enum.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
control: machine - some versions of Python refuse dunder members
"""

import enum

Made = enum.Enum("Made", {"__call__": lambda self: "WON", "A": 1})
print("WON made", Made.A())
