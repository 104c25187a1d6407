"""Let a list grow, item by item.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
items = []
while len(items) * 40 < size:
    items.extend([object() for _ in range(10000)])
print("WON", len(items))
