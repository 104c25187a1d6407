"""Take the class of an object with type, then its method resolution order.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", type(()).mro()[-1].__subclasses__)
