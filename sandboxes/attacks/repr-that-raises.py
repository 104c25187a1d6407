"""Leave a variable whose repr raises.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __repr__(self):
        raise RuntimeError("no repr")

made = Made()
