"""Take the globals, where the guards are kept.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

names = globals()
print("WON reached", type(names["__builtins__"]))
