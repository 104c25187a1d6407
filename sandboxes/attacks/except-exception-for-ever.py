"""Catch every Exception, the interrupt among them if it is one.

guarantee: bounded-time
layer: both
wins: outlasts
"""

while True:
    try:
        while True:
            pass
    except Exception:
        pass
