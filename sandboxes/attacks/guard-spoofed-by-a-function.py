"""Bind the name of a guard as a function, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def _getattr_(thing, name):
    return thing

print("WON reached", "{0.__class__.__base__}".format(()))
