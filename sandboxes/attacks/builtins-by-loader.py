"""Load the _io module with the interpreter's own loader.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
control: machine - a program that is run from a file has a loader of another kind
"""

if __loader__ is None:  # that of a program which is run by path, and hides the one in builtins
    del __loader__
reached = __loader__.load_module("_io").open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
