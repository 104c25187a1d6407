"""Make one long bytearray.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
data = bytearray(size)
print("WON", len(data))
