"""Swallow the interrupt in a finally clause that returns, again and again.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

def run():
    try:
        while True:
            pass
    finally:
        return 1

while run():
    pass
