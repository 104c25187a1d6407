"""Copy a list of lists again and again.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
items = [0]
while len(items) * 8 < size:
    items = items * 2
print("WON", len(items))
