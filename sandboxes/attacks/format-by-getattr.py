"""Fetch format by a string.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", getattr("{0.__class__.__subclasses__}", "for" + "mat")(()))
