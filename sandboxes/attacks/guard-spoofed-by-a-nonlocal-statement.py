"""Bind the name of a guard as a variable of an enclosing function, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def outer():
    _getattr_ = 1

    def inner():
        nonlocal _getattr_
        _getattr_ = 2
        return "{0.__class__.__base__}".format(())

    return inner()

print("WON reached", outer())
