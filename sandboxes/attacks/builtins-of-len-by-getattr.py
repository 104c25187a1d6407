"""Reach the builtins module as the owner of len, by a string.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = getattr(len, "__self__").open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
