"""Compute a factorial of millions of digits.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import math

print(math.factorial(10**7) % 10)
