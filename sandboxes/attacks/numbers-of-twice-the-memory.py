"""Make one long number.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
number = 1 << (8 * size)
print("WON", number.bit_length())
