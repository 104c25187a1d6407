"""Call getattr with a hidden name.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", getattr(tuple, "__subclasses__"))
