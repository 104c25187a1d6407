"""Have copy rebuild an object from a recipe of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import copy

class Made:
    def __reduce_ex__(self, protocol):
        return (getattr, ((), "__class__"))

print("WON reached", copy.copy(Made()))
