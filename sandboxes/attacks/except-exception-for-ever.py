"""Catch every Exception, the interrupt among them if it is one.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

while True:
    try:
        while True:
            pass
    except Exception:
        pass
