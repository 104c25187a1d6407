"""Print characters that JSON escapes to six times their size.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

for _ in range(20):
    print("\x01" * 100_000)
