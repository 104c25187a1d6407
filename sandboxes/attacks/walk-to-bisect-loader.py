"""Walk through an allowed module to bisect.__loader__.get_data.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import bisect

print("WON reached", bisect.__loader__.get_data)
