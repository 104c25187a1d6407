"""Change the bases of a class after it is made.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class One:
    pass

class Two:
    pass

class Three(One):
    pass

Three.__bases__ = (Two,)
print("WON changed", Three.__bases__)
