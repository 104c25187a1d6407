"""Assign to an attribute of a module as the target of a with statement.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import math

class Manager:
    def __enter__(self):
        return 5

    def __exit__(self, *args):
        return False

with Manager() as math.pi:
    print("WON replaced", math.pi)
