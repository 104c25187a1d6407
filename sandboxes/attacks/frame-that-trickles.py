"""Send a large frame one byte at a time, so that something always arrives.

guarantee: bounded-time
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os
import time

os.write(3, b"\x00\x0f\x00\x00")
for _ in range(600):
    os.write(3, b" ")
    time.sleep(0.01)
