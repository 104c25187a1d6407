"""Take the maximum of an iterator that never ends.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import itertools

print(max(itertools.repeat(1)))
