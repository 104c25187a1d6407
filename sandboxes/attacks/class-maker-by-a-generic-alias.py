"""Call the class maker through the alias type[int].

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

alias = type[int]
Made = alias("Made", (), {"__del__": lambda self: None})
print("WON made", Made)
