"""Fill a dict with keys that all have the same hash.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

base = 2**61 - 1
table = {base * number: number for number in range(200_000)}
print(len(table))
