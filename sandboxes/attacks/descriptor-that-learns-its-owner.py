"""Be told of the class that holds it, through __set_name__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Spy:
    def __set_name__(self, owner, name):
        print("WON told of", owner.__subclasses__)

class Made:
    field = Spy()
