"""Compute a factorial of millions of digits.

guarantee: bounded-time
layer: both
wins: outlasts
"""

import math

print(math.factorial(10**7) % 10)
