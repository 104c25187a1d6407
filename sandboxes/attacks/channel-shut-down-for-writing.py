"""Shut its half of the channel down.

guarantee: authentic-channel
layer: kernel
wins: breaks
"""

import time

SHUT_WR = 1
call("shutdown", 3, SHUT_WR)
time.sleep(3600)
