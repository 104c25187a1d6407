"""Bind the name of a guard as an annotated name, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

_getattr_: object = None

print("WON reached", "{0.__class__.__base__}".format(()))
