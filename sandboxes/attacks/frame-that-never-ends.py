"""Announce a frame, send half of it, and wait.

guarantee: bounded-time
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os
import time

os.write(3, b"\x00\x00\x10\x00" + b"{" * 100)
time.sleep(3600)
