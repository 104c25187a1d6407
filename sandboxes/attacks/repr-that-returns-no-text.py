"""Leave a variable whose repr is no text.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made:
    def __repr__(self):
        return 7

made = Made()
