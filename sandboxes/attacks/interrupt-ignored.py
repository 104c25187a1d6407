"""Ignore the signal that interrupts a cell, then never end.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import signal

signal.signal(signal.SIGUSR1, signal.SIG_IGN)
while True:
    pass
