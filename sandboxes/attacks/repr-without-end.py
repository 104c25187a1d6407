"""Leave a variable whose repr recurses without end, through C and back.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __eq__(self, other):
        return [self] == [other]

    def __repr__(self):
        return repr([self])

made = Made()
