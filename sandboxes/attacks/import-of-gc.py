"""Import gc.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import gc

print("WON reached", gc.get_objects()[:1])
