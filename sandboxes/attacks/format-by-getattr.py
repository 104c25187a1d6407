"""Fetch format by a string.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON reached", getattr("{0.__class__.__base__}", "for" + "mat")(()))
