"""Hand getattr to map.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON reached", list(map(getattr, [()], ["__class__"])))
