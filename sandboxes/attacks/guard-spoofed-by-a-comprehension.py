"""Bind the name of a guard as the variable of a comprehension, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", ["{0.__class__.__base__}".format(()) for _getattr_ in [None]])
