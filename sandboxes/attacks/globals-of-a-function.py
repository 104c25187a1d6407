"""Read the globals of a function of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made():
    pass

print("WON reached", made.__globals__["__builtins__"])
