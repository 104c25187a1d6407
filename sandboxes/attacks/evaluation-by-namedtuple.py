"""Make a named tuple in the module of another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import collections

Made = collections.namedtuple("Made", "x", module="os")
print("WON made in", Made.__module__)
