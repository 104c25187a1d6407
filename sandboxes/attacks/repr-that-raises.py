"""Leave a variable whose repr raises.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made:
    def __repr__(self):
        raise RuntimeError("no repr")

made = Made()
