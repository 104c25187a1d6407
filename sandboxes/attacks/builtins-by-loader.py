"""Load the os module with the interpreter's own loader.

guarantee: no-reflection
layer: language
wins: reflects
control: machine - a program that is run from a file has a loader of another kind
"""

reached = __loader__.load_module("io").open if __loader__ else None
print("WON reached", __loader__)
