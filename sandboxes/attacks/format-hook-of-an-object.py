"""Be handed the format specification, and read attributes there.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Spy:
    def __format__(self, spec):
        return "WON " + str(spec.__class__.__subclasses__)

print(f"{Spy():x}")
