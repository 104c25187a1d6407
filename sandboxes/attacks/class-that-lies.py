"""Leave an answer that says it is a dict.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: answer
"""

class Made:
    @property
    def __class__(self):
        return dict

    def __repr__(self):
        raise SystemExit(9)

answer = Made()
made = Made()
