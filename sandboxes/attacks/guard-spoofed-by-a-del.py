"""Bind the name of a guard as a name to delete, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

_getattr_ = 1
del _getattr_

print("WON reached", "{0.__class__.__base__}".format(()))
