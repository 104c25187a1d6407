"""Bind the name of a guard as the variable of a loop, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

for _getattr_ in [lambda thing, name: thing]:
    print("WON reached", "{0.__class__.__base__}".format(()))
