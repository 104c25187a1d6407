"""Print little, with a separator of megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

print(*range(100), sep="x" * 100_000)
