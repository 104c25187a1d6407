"""Bind the name of a guard as the rest of the parameters, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made(*_getattr_, **_write_):
    return "{0.__class__.__base__}".format(())

print("WON reached", made())
