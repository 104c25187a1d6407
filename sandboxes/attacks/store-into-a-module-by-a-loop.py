"""Assign to an attribute of a module as the target of a loop.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

for math.pi in [4]:
    pass
print("WON replaced", math.pi)
