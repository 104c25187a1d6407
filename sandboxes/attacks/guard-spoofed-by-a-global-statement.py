"""Bind the name of a guard as a global, from inside a function, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def spoof():
    global _getattr_
    _getattr_ = None

spoof()

print("WON reached", "{0.__class__.__base__}".format(()))
