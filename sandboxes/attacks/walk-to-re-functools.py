"""Walk through an allowed module to re.functools.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import re

print("WON reached", re.functools)
