"""Run for ever without a word.

guarantee: bounded-time
layer: kernel
wins: breaks
outcome: kills its own process tree
"""

import time

while True:
    time.sleep(1)
