"""Reach the builtins module as the owner of print.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = print.__self__.open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
