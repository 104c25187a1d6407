"""Take a view of memory.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON", memoryview(b"abc").obj)
