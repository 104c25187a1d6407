"""Read attributes with str.format_map.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", "{x.__class__.__subclasses__}".format_map({"x": ()}))
