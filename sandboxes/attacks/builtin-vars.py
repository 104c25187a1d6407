"""Read the attributes of an object as a dict.

guarantee: no-reflection
layer: language
wins: reflects
"""

class Holder:
    pass

print("WON reached", vars(Holder)["__dict__"])
