"""Never end while the text of the exception is built, after the cell is over.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Made(Exception):
    def __str__(self):
        while True:
            pass

raise Made
