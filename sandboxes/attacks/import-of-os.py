"""Import os.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import os

print("WON reached", os.listdir("/"))
