"""Import ctypes.

guarantee: no-reflection
layer: language
wins: reflects
"""

import ctypes

print("WON reached", ctypes.CDLL(None))
