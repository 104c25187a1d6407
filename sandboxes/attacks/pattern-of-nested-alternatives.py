"""Match a pattern of alternatives that overlap.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import re

re.fullmatch(r"(?:a|a|aa)*?(?:b|aa|a)*c", "a" * 200)
