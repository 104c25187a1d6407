"""Ignore the signal of the CPU limit, then never end.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import signal

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass
