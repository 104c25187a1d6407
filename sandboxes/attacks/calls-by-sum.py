"""Have sum call a hidden method with an object of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def __radd__(self, other):
        print("WON", other.__class__.__subclasses__)
        return 0

sum([Made()])
