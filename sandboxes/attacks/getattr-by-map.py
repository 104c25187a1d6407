"""Hand getattr to map.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", list(map(getattr, [tuple], ["__subclasses__"])))
