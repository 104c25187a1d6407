"""Walk through an allowed module to math.sqrt.__self__.__loader__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import math

print("WON reached", math.sqrt.__self__.__loader__)
