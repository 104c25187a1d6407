"""Read attributes with str.format_map.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON reached", "{x.__class__.__base__}".format_map({"x": ()}))
