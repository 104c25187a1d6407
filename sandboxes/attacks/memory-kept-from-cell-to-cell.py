"""Take a little more memory in every cell.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

kept = [bytearray(TARGET["memory_bytes"] // 2)]
# next cell
kept.append(bytearray(TARGET["memory_bytes"] // 2))
# next cell
kept.append(bytearray(TARGET["memory_bytes"] // 2))
print("WON", sum(map(len, kept)))
