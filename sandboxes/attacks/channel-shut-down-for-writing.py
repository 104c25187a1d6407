"""Shut its half of the channel down.

guarantee: authentic-channel
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel, ctypes
"""

import time

SHUT_WR = 1
call("shutdown", 3, SHUT_WR)
time.sleep(3600)
