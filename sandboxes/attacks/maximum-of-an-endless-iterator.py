"""Take the maximum of an iterator that never ends.

guarantee: bounded-time
layer: both
wins: outlasts
"""

import itertools

print(max(itertools.repeat(1)))
