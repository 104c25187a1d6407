"""Bind the name of a guard as a parameter, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made(_getattr_=lambda thing, name: thing):
    return "{0.__class__.__base__}".format(())

print("WON reached", made())
