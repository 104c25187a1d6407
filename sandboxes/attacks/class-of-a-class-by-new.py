"""Make an object of a foreign class with object.__new__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON made", object.__new__(object).__class__)
