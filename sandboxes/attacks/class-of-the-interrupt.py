"""Take the class of the interrupt from a with statement, and catch it from then on.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        caught.append(kind)
        return True

caught = []
with Manager():
    while True:
        pass
while True:
    try:
        while True:
            pass
    except caught[0]:
        pass
