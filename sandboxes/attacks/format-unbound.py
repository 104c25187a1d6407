"""Call format as a function of the class str.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", str.format("{0.__class__.__subclasses__}", ()))
