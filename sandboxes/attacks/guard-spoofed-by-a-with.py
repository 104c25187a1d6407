"""Bind the name of a guard as the target of a with statement, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Manager:
    def __enter__(self):
        return None

    def __exit__(self, *args):
        return False

with Manager() as _getattr_:
    print("WON reached", "{0.__class__.__base__}".format(()))
