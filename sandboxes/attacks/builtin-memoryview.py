"""Take a view of memory.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON", memoryview(b"abc").obj)
