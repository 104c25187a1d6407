"""Print characters that take four bytes and twelve characters of JSON each.

guarantee: bounded-output
layer: both
wins: floods
"""

for _ in range(20):
    print("\U0001f600" * 100_000)
