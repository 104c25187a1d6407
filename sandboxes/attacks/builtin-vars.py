"""Read the attributes of an object as a dict.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Holder:
    pass

print("WON reached", vars(Holder)["__dict__"])
