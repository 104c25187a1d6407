"""Import os.

guarantee: no-reflection
layer: language
wins: reflects
"""

import os

print("WON reached", os.listdir("/"))
