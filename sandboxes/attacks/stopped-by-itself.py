"""Stop its own process, so that it never answers.

guarantee: bounded-time
layer: kernel
wins: outlasts
outcome: kills its own process tree
"""

import os

os.kill(os.getpid(), 19)
