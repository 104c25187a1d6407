"""Compute a number of a hundred million digits.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

print((7 ** 10**8) % 10)
