"""Leave a variable whose repr exits.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made:
    def __repr__(self):
        raise SystemExit(9)

made = Made()
