"""Have the percent operator pad a number.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
text = "%*d" % (size, 1)
print("WON", len(text))
