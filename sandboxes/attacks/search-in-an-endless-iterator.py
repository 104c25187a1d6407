"""Look for something in an iterator that never ends.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import itertools

print(-1 in itertools.count())
