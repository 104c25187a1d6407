"""Delete a function of a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

del math.pi
print("WON deleted")
