"""Never end.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

while True:
    pass
