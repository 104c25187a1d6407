"""Read the descriptors that __slots__ leaves in a class.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    __slots__ = ("value",)

print("WON reached", Made.value.__objclass__)
