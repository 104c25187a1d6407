"""Leave a variable whose repr is no text.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __repr__(self):
        return 7

made = Made()
