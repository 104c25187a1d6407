"""Write to the channel for ever.

guarantee: bounded-output
layer: kernel
wins: breaks
outcome: kills its own process tree
needs: channel
"""

import os

block = b"x" * 65536
for _ in range(200):
    os.write(3, block)
