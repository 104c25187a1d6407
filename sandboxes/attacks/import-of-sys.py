"""Import sys.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import sys

print("WON reached", sys.modules["os"])
