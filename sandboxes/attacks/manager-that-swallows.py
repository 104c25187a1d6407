"""Swallow the interrupt in an __exit__ that returns true.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return True

while True:
    with Manager():
        while True:
            pass
