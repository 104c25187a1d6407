"""Import signal.

guarantee: no-reflection
layer: language
wins: reflects
"""

import signal

print("WON reached", signal.SIGKILL)
