"""Sleep for an hour.

guarantee: bounded-time
layer: kernel
wins: outlasts
"""

import time

time.sleep(3600)
