"""Recurse twice at every level, catching the recursion error.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

def run(depth):
    for _ in range(2):
        try:
            run(depth + 1)
        except RecursionError:
            pass

while True:
    run(0)
