"""Wait for a signal that never comes.

guarantee: bounded-time
layer: kernel
wins: outlasts
"""

import signal

while True:
    signal.pause()
