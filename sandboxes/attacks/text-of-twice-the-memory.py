"""Make one long text.

guarantee: bounded-memory
layer: both
wins: prints
"""

size = 2 * TARGET["memory_bytes"]
text = "a" * size
print("WON", len(text))
