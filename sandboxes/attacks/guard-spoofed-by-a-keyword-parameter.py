"""Bind the name of a guard as a keyword-only parameter, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made(*, _getattr_):
    return "{0.__class__.__base__}".format(())

print("WON reached", made(_getattr_=None))
