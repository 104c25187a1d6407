"""Abort, as a failed assertion in C does.

guarantee: host-integrity
layer: kernel
wins: breaks
outcome: kills its own process tree
"""

import os

os.abort()
