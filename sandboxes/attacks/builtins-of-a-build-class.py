"""Reach the builtins module through the function that builds classes.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
control: machine - __build_class__ is a builtin of CPython
"""

reached = __build_class__.__self__.open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
