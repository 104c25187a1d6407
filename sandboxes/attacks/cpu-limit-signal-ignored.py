"""Ignore the signal of the CPU limit, then never end.

guarantee: bounded-time
layer: kernel
wins: outlasts
"""

import signal

signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True:
    pass
