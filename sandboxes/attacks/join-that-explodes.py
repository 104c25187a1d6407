"""Join many references to one long text.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
part = "a" * 1_000_000
text = "".join([part] * (size // 1_000_000 + 1))
print("WON", len(text))
