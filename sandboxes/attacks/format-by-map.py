"""Hand format itself to map.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", list(map("{0.__class__.__subclasses__}".format, [()])))
