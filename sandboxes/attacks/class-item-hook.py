"""Turn a subscript of a class into a call.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def __class_getitem__(cls, item):
        return cls.__subclasses__

print("WON reached", Made[0])
