"""Change the defaults of a function that is already there.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def one(value="one"):
    return value

one.__defaults__ = ("WON replaced",)
print(one())
