"""Change an attribute of a module with an annotated assignment.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

math.pi: float = 3.0
print("WON changed", math.pi)
