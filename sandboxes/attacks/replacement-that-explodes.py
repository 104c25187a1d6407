"""Replace every letter of a text by a long one.

guarantee: bounded-memory
layer: both
wins: prints
outcome: kills its own process tree
"""

size = 2 * TARGET["memory_bytes"]
text = ("a" * 10_000).replace("a", "b" * (size // 10_000))
print("WON", len(text))
