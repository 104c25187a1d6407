"""Read the globals of a lambda, by a string.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

names = getattr(lambda: 0, "__globals__")
print("WON reached", sorted(names)[:3])
