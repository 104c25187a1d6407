"""Bind getattr to a class with functools.partialmethod.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

class Made:
    reach = functools.partialmethod(getattr, "__class__")

print("WON reached", Made().reach().__subclasses__)
