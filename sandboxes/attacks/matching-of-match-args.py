"""Read hidden attributes by position, named in __match_args__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Any:
    __match_args__ = ("__class__",)

match Any():
    case Any(reached):
        print("WON reached", reached.__mro__)
