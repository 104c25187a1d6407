"""Fill a dict.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
table = {}
while len(table) * 100 < size:
    table[len(table)] = float(len(table))
print("WON", len(table))
