"""Reach the class maker as the type of a class.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

maker = type(int)
Made = maker("Made", (), {"__del__": lambda self: None})
print("WON made", Made)
