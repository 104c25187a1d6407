"""Print little, with a separator of megabytes.

guarantee: bounded-output
layer: both
wins: floods
"""

print(*range(100), sep="x" * 100_000)
