"""Read attributes with str.format after an index.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", "{0[0].__class__.__subclasses__}".format([()]))
