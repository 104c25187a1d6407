"""Call getattr with a hidden name and a default.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = getattr(tuple, "__subclasses__", None)
if reached is None:
    raise AttributeError("nothing")
print("WON reached", reached)
