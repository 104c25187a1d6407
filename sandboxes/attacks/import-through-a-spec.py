"""Reach the import machinery through the spec of a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import math

print("WON reached", math.__spec__.loader)
