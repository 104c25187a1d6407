"""Catch everything, the interrupt too.

guarantee: bounded-time
layer: both
wins: outlasts
"""

def run():
    while True:
        try:
            while True:
                pass
        except:
            continue

run()
