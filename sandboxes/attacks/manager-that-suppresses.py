"""Swallow the interrupt with contextlib.suppress.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import contextlib

while True:
    with contextlib.suppress(BaseException):
        while True:
            pass
