"""Wait for input that never comes.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
needs: channel
"""

import os
import select

while True:
    select.select([3], [], [], 3600)
    os.read(3, 1)
