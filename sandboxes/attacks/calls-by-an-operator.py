"""Call a refused builtin as an operator of a class.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    pass

Made.__add__ = lambda self, other: open(other)
made = Made() + TARGET["file"]
print("WON reached", made)
print(made.read())
