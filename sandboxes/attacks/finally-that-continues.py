"""Swallow the interrupt in a finally clause that continues.

guarantee: bounded-time
layer: both
wins: outlasts
"""

def run():
    while True:
        try:
            while True:
                pass
        finally:
            continue

run()
