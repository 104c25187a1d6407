"""Show a check one __match_args__ and the pattern another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Changing:
    def __get__(self, thing, owner):
        turns.append(1)
        return ("__class__",) if len(turns) > 1 else ("value",)

class Made:
    __match_args__ = Changing()
    value = 1

turns = [1]
match Made():
    case Made(found):
        print("WON reached", found.__mro__)
