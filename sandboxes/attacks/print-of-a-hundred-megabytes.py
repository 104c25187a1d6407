"""Print a hundred megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

for _ in range(100):
    print("x" * 1_000_000)
