"""Have an error message quote a name of five megabytes, made in a short cell.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

def run():
    pass

run(**{"x" * 5_000_000: 1})
