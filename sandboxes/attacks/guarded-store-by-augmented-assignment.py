"""Change an attribute of a module with an augmented assignment.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

math.pi += 1
print("WON changed", math.pi)
