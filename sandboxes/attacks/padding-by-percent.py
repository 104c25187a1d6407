"""Have the percent operator pad a number.

guarantee: bounded-memory
layer: both
wins: prints
"""

size = 2 * TARGET["memory_bytes"]
text = "%*d" % (size, 1)
print("WON", len(text))
