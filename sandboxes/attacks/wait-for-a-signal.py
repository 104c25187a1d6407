"""Wait for a signal that never comes.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import signal

while True:
    signal.pause()
