"""Change the defaults of a function that is already there.

guarantee: no-reflection
layer: language
wins: reflects
"""

def one(value="one"):
    return value

one.__defaults__ = ("WON replaced",)
print(one())
