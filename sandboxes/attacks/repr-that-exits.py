"""Leave a variable whose repr exits.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __repr__(self):
        raise SystemExit(9)

made = Made()
