"""Swallow the interrupt in a generator that goes on when it is closed.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

def made():
    while True:
        try:
            while True:
                yield 1
        except BaseException:
            pass

for _ in made():
    pass
