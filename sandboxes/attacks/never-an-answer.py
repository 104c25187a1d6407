"""Run for ever without a word.

guarantee: bounded-time
layer: kernel
wins: breaks
"""

import time

while True:
    time.sleep(1)
