"""Match a pattern that backtracks for years.

guarantee: bounded-time
layer: both
wins: outlasts
"""

import re

re.match(r"(a+)+$", "a" * 60 + "b")
