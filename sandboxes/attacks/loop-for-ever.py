"""Never end.

guarantee: bounded-time
layer: both
wins: outlasts
"""

while True:
    pass
