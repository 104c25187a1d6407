"""Block every signal that can be blocked, then never end.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
