"""Empty an endless iterator into a queue that keeps nothing.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import collections
import itertools

collections.deque(itertools.count(), maxlen=0)
