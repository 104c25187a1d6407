"""Leave a variable whose repr never ends.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
needs: variables
"""

class Made:
    def __repr__(self):
        while True:
            pass

made = Made()
