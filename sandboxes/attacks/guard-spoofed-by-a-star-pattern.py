"""Bind the name of a guard as the star of a sequence pattern, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

match [1, 2]:
    case [1, *_getattr_]:
        print("WON reached", "{0.__class__.__base__}".format(()))
