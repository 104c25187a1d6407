"""Sleep for an hour.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import time

time.sleep(3600)
