"""Never end inside the hash of a key.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Made:
    def __hash__(self):
        while True:
            pass

table = {Made(): 1}
