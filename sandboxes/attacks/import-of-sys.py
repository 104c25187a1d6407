"""Import sys.

guarantee: no-reflection
layer: language
wins: reflects
"""

import sys

print("WON reached", sys.modules["os"])
