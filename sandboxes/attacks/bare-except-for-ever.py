"""Catch everything, the interrupt too.

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
        except:
            continue

run()
