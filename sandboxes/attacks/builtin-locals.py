"""Take the locals of the cell, which are its globals.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

names = locals()
print("WON reached", type(names["__builtins__"]))
