"""Be called with every later subclass, before its author has it.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def __init_subclass__(cls, **names):
        print("WON told of", cls.__subclasses__)

class Later(Made):
    pass
