"""Print characters that take four bytes and twelve characters of JSON each.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

for _ in range(20):
    print("\U0001f600" * 100_000)
