"""Give a function the code of another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def one():
    return "one"

def two():
    return "WON replaced"

one.__code__ = two.__code__
print(one())
