"""Make one long list.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
items = [0] * (size // 8)
print("WON", len(items))
