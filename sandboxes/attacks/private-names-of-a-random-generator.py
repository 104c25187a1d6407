"""Reach the class of the shared random generator.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import random

print("WON reached", random.random.__self__.__class__, random._inst, random._os)
