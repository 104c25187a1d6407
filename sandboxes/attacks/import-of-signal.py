"""Import signal.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import signal

print("WON reached", signal.SIGKILL)
