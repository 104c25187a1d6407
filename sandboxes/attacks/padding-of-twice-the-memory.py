"""Have a format specification pad a number.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
text = f"{1:>{size}}"
print("WON", len(text))
