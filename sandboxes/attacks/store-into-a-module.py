"""Assign to an attribute of a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

math.pi = 3
print("WON replaced", math.pi)
