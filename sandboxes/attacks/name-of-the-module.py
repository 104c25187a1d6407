"""Change __name__, which functions and classes copy.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

__name__ = "os"

def made():
    pass

print("WON", made.__module__)
