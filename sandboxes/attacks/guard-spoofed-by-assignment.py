"""Bind the name of a guard as a variable, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

_getattr_ = lambda thing, name: thing
print("WON reached", "{0.__class__.__base__}".format(()))
