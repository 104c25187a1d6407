"""Change the class of an object to one with other methods.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class One:
    pass

class Two:
    value = "WON swapped"

thing = One()
thing.__class__ = Two
print(thing.value)
