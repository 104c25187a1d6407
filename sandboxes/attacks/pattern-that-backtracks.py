"""Match a pattern that backtracks for years.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import re

re.match(r"(a+)+$", "a" * 60 + "b")
