"""Assign to an attribute of a module inside a tuple.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

[math.pi, *math.e] = 6, 7
print("WON replaced", math.pi)
