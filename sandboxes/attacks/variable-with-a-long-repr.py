"""Leave a variable whose repr is ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __repr__(self):
        return "x" * 10_000_000

made = Made()
