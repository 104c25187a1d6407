"""Delete a function of a module.

guarantee: no-reflection
layer: language
wins: reflects
"""

import math

del math.pi
print("WON deleted")
