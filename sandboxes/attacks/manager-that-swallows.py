"""Swallow the interrupt in an __exit__ that returns true.

guarantee: bounded-time
layer: both
wins: outlasts
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
