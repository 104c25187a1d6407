"""Bind the name of a guard as a class, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class _getattr_:
    pass

print("WON reached", "{0.__class__.__base__}".format(()))
