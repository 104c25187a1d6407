"""Have print write into an object of its own, and see who calls.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class File:
    def write(self, text):
        seen.append(text.__class__)

seen = []
print("x", file=File())
print("WON reached", seen[0].__subclasses__)
