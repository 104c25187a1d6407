"""Catch every BaseException, the interrupt among them.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

while True:
    try:
        while True:
            pass
    except BaseException:
        pass
