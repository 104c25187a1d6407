"""Swallow the interrupt in a finally clause that continues.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

def run():
    while True:
        try:
            while True:
                pass
        finally:
            continue

run()
