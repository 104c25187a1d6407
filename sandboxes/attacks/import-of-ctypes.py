"""Import ctypes.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: ctypes
"""

import ctypes

print("WON reached", ctypes.CDLL(None))
