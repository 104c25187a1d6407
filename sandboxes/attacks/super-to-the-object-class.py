"""Reach the methods of object through super.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def reach(self):
        return super().__getattribute__("__class__")

print("WON reached", Made().reach())
