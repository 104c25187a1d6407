"""Overflow the C stack with a tower of filters.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

made = iter([1])
for _ in range(200_000):
    made = filter(None, made)
next(made)
