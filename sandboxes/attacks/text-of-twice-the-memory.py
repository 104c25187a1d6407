"""Make one long text.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
text = "a" * size
print("WON", len(text))
