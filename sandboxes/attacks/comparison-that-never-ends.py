"""Never end inside a comparison that a sort makes.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Made:
    def __lt__(self, other):
        while True:
            pass

sorted([Made(), Made()])
