"""Reach the import machinery through the spec of a module.

guarantee: no-reflection
layer: language
wins: reflects
"""

import math

print("WON reached", math.__spec__.loader)
